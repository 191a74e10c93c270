"""Mutants, drawn at random from all lines: ``python tests/mutants.py --seed 0 --count 200``.

Each makes one small slip in a copy of the library, and the tests that run the changed line have to
notice. ``--record`` first finds out which tests run which line, and is needed once, and again after
tests were added; without a record a mutant is tried on the test that killed it according to
``benchmarks/results/mutants.json``, or else on the files of tests that import its module.

What was judged is kept in ``.mutants``: a run that was interrupted goes on where it was.
"""

import argparse
import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, islice
from pathlib import Path
from threading import Lock
from typing import Any

from mutation.choice import Choice, Coverage
from mutation.draw import Mutant, drawn, n_lines
from mutation.page import told_draw, with_draw
from mutation.trial import Verdict, judge, judge_forked, keep_compiled, snapshot

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".mutants"
READ = ROOT / "tests" / "mutants.toml"
PAGE = ROOT / "docs" / "lab" / "mutants.md"
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
FILES_WITHOUT_RECORD = 2  # of tests, for a mutant of which nothing is known
DEAD = {"killed", "timeout"}

Key = tuple[str, str, str]


def read() -> tuple[dict[Key, str], dict[Key, str]]:
    """What people found who read the mutants that live: proofs of equivalence, and reasons."""
    listed = tomllib.loads(READ.read_text(encoding="utf-8"))

    def by_key(part: str, says: str) -> dict[Key, str]:
        return {(m["file"], m["old"], m["new"]): m[says] for m in listed.get(part, [])}

    return by_key("equivalent", "proof"), by_key("open", "why")


def _digest(*folders: Path) -> str:
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


class Court:
    """Judges mutants of a snapshot, and remembers verdicts."""

    def __init__(self, root: Path, budget: float) -> None:
        self.root, self.budget, self.lock = root, budget, Lock()
        self.choice = Choice(root, Coverage(root, KEPT / "coverage"))
        self.proofs, self.reasons = read()
        self.tree = _digest(root / "src", root / "tests")
        self.path = KEPT / "verdicts.json"
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}
        published = json.loads(RESULTS.read_text())["mutants"] if RESULTS.exists() else []
        self.killers = {(m["file"], m["old"], m["new"]): m["test"] for m in published}

    def judged(self, mutant: Mutant) -> dict[str, Any]:
        """A mutant with its verdict."""
        about = mutant._asdict()
        del about["text"]
        if mutant.key in self.reasons:
            about["why"] = self.reasons[mutant.key]
        if mutant.key in self.proofs:
            return about | {"outcome": "equivalent", "proof": self.proofs[mutant.key]}
        key = json.dumps(mutant.key)
        kept = self.known.get(key, {})
        if kept and self._still_holds(kept, mutant):
            return about | kept["verdict"]
        tests, complete = self._tests(mutant, kept.get("verdict", {}).get("test", ""))
        verdict = judge(mutant, tests, self.root)
        if verdict.outcome == "survived" and not complete:
            verdict = verdict._replace(outcome="unknown")
        self._keep(key, mutant, verdict)
        return about | verdict._asdict()

    def try_forked(self, mutants: list[Mutant], jobs: int) -> None:
        """Try all that are another body of a function in so many sessions; others one by one."""
        waiting = {}
        for number, mutant in enumerate(mutants):
            kept = self.known.get(json.dumps(mutant.key), {})
            settled = mutant.key in self.proofs or (kept and self._still_holds(kept, mutant))
            if not settled:
                tests, complete = self._tests(mutant, kept.get("verdict", {}).get("test", ""))
                if complete:
                    waiting[number] = (mutant, tests)
        parts = [dict(islice(waiting.items(), k, None, jobs)) for k in range(jobs)]

        def judge_part(part: dict[int, tuple[Mutant, dict[str, float]]]) -> None:
            for number, verdict in judge_forked(part, self.root):
                self._keep(json.dumps(mutants[number].key), mutants[number], verdict)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(judge_part, filter(None, parts)))

    def _tests(self, mutant: Mutant, before: str) -> tuple[dict[str, float], bool]:
        """Tests with their seconds, first the one that killed before; and whether they are all."""
        tests = self.choice.tests(mutant)
        killer = before or self.killers.get(mutant.key, "")
        first = (
            {killer: tests.get(killer, 10.0)} if killer in tests or (killer and not tests) else {}
        )
        if tests or first:
            return _within(first | tests, self.budget), bool(tests)
        near = self.choice.imports.nearest_tests(f"src/thresher/{mutant.file}")
        return dict.fromkeys(near[:FILES_WITHOUT_RECORD], 10.0), False

    def _still_holds(self, kept: dict[str, Any], mutant: Mutant) -> bool:
        """A survivor is tried again if anything changed, a dead one if its file or test did."""
        if kept["verdict"]["outcome"] in DEAD | {"broken"}:
            return bool(kept["own"] == self._own(mutant, kept["verdict"]["test"]))
        return bool(kept["tree"] == self.tree)

    def _own(self, mutant: Mutant, test: str) -> str:
        paths = [self.root / "src" / "thresher" / mutant.file, self.root / test.split("::")[0]]
        content = b"".join(path.read_bytes() for path in paths if path.is_file())
        return hashlib.sha256(content).hexdigest()[:16]

    def _keep(self, key: str, mutant: Mutant, verdict: Verdict) -> None:
        own = self._own(mutant, verdict.test)
        with self.lock:
            self.known[key] = {"verdict": verdict._asdict(), "tree": self.tree, "own": own}
            KEPT.mkdir(exist_ok=True)
            new = self.path.with_suffix(".new")  # an interrupt leaves the old file whole
            new.write_text(json.dumps(self.known, indent=1, ensure_ascii=False))
            new.replace(self.path)


def _within(tests: dict[str, float], budget: float) -> dict[str, float]:
    """As many tests, from the first on, as take so many seconds together; one at least."""
    taken = sum(1 for spent in accumulate(tests.values()) if spent <= budget)
    return dict(islice(tests.items(), max(1, taken)))


def judged(court: Court, seed: int, count: int, only: str, jobs: int) -> Iterator[dict[str, Any]]:
    """So many mutants, in the order of the draw; one that is no program is replaced by the next."""
    line = drawn(court.root / "src" / "thresher", seed, only)
    missing = count
    with ThreadPoolExecutor(jobs) as pool:
        while missing and (batch := list(islice(line, missing))):
            court.try_forked(batch, jobs)
            for result in pool.map(court.judged, batch):
                missing -= result["outcome"] != "broken"
                yield result


def as_diff(result: dict[str, Any]) -> str:
    """A mutant and what became of it, as a small diff."""
    place = f"{result['file']}:{result['line']} ({result['kind']})"
    by = f" by {result['test']} [{result['error']}]" if result.get("test") else ""
    tried = f", {result['n_tests']} tests, {result['seconds']} s" if "n_tests" in result else ""
    head = f"{result['outcome']:10} {place}{by}{tried}"
    return head if by else f"{head}\n  - {result['old']}\n  + {result['new']}"


def main() -> int:
    """Draw, judge, tell; 1 if a mutant survived."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", metavar="GLOB", default="*", help="files, such as 'engine/*'")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument(
        "--budget", type=float, default=200, help="seconds of tests in which a mutant has to die"
    )
    parser.add_argument(
        "--record", metavar="GLOB", nargs="?", const="*",
        help="find out which tests run which line, in all files of tests, or such as 'test_c*'",
    )  # fmt: skip
    parser.add_argument(
        "--longest", type=float, default=60, help="seconds of a test that is worth recording"
    )
    parser.add_argument("--write", action="store_true", help="write results and their page")
    options = parser.parse_args()
    if options.record:
        with snapshot(ROOT) as copy:
            Coverage(copy, KEPT / "coverage").record(options.jobs, options.record, options.longest)
            keep_compiled(copy, ROOT)
    results = []
    with snapshot(ROOT) as copy:
        court = Court(copy, options.budget)
        for result in judged(court, options.seed, options.count, options.only, options.jobs):
            print(as_diff(result), flush=True)
            results.append(result)
        lines = n_lines(copy / "src" / "thresher")
    counts = Counter(result["outcome"] for result in results)
    dead, alive = counts["killed"] + counts["timeout"], counts["survived"]
    print(f"{dict(counts)}: {dead} of {dead + alive} that change anything die", flush=True)
    if options.write:
        about = {"seed": options.seed, "lines": lines, "outcomes": dict(counts)}
        about["share_that_dies"] = round(dead / max(dead + alive, 1), 4)
        text = json.dumps(about | {"mutants": results}, indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")
        told = with_draw(PAGE.read_text(encoding="utf-8"), told_draw(about, results))
        PAGE.write_text(told, encoding="utf-8")
    return 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main())
