"""Which tests can notice a mutant: those that run its line, as recorded by `coverage`.

Lines are remembered by their function and text, not by number, so that a record outlives changes
elsewhere. Compiled lines are not seen by `coverage`: theirs are the tests of the Python lines that
call the kernel. What runs at import is noticed by the tests of the functions that use it.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mutation.draw import Mutant
from mutation.imports import Imports, is_compiled
from mutation.process import run_pytest, without_case
from mutation.source import Source

Key = tuple[str, str, int]


def _digest(path: Path) -> str:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Coverage:
    """Which test runs which line, and for how long; one record for each file of tests."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.seconds: dict[str, float] = {}
        self.others: dict[str, list[str]] = {}
        self.lines: dict[str, dict[Key, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path in sorted(folder.glob("*.json")):
            record = json.loads(path.read_text())
            self.seconds |= record["seconds"]
            self.others |= record["others"]
            for file, lines in record["lines"].items():
                for scope, text, number, tests in lines:
                    self.lines[file][scope, text, number] |= {
                        record["names"][k] for k in tests if record["names"][k] in self.seconds
                    }

    def record(self, jobs: int, only: str, longest: float) -> None:
        """Run every file of tests that changed since it was recorded, and the doctests."""
        self.folder.mkdir(parents=True, exist_ok=True)
        targets = [*sorted(self.root.glob("tests/test_*.py")), self.root / "src"]
        stale = [t for t in targets if fnmatch(t.name, only) and not self._is_fresh(t)]
        with ThreadPoolExecutor(jobs) as pool:
            for name in pool.map(lambda target: self._record(target, longest), stale):
                print(f"recorded {name}", flush=True)

    def _place(self, target: Path) -> Path:
        return self.folder / f"{target.stem}.json"

    def _is_fresh(self, target: Path) -> bool:
        place = self._place(target)
        # Doctests run again only if there is no record: the whole library would be their digest.
        return place.exists() and (
            target.is_dir() or json.loads(place.read_text())["digest"] == _digest(target)
        )

    def _record(self, target: Path, longest: float) -> str:
        raw, told = (self._place(target).with_suffix(end) for end in (".raw", ".out"))
        environment = {
            "MUTANT_ROOT": str(self.root),
            "MUTANT_RECORD": str(raw),
            "MUTANT_LONGEST": str(longest),
        }
        run_pytest(self.root, environment, [str(target)], told)
        output = told.read_text()
        if not raw.exists():
            raise SystemExit(f"{target} could not be recorded:\n{output}")
        told.unlink()
        record = json.loads(raw.read_text())
        raw.unlink()
        place = self._place(target)
        place.write_text(json.dumps(self._compact(record) | {"digest": _digest(target)}))
        return f"{target.name}: {len(record['seconds'])} tests, {output.splitlines()[-1]}"

    def _compact(self, record: dict[str, Any]) -> dict[str, Any]:
        names: dict[str, int] = {}
        lines = {}
        for file, found in record["lines"].items():
            keys = Source((self.root / file).read_text(encoding="utf-8")).keys
            lines[file] = [
                (*keys[int(line)], [names.setdefault(test, len(names)) for test in tests])
                for line, tests in found.items()
                if tests and int(line) < len(keys)  # others were compiled by a test
            ]
        kept = {name: record[name] for name in ("seconds", "others")}
        return kept | {"lines": lines, "names": list(names)}


class Choice:
    """The tests that can notice a mutant: a case of each, fastest first, then other cases."""

    def __init__(self, root: Path, coverage: Coverage) -> None:
        self.coverage = coverage
        self.imports = Imports(root)

    def tests(self, mutant: Mutant) -> dict[str, float]:
        """Names and usual seconds of the tests that run a mutant's line; recorded cases first."""
        file = f"src/thresher/{mutant.file}"
        found = self._of_line(file, mutant.line)
        seconds = self.coverage.seconds
        recorded = {test: seconds[test] for test in one_case_of_each_first(found, seconds)}
        usual = {without_case(test): spent for test, spent in recorded.items()}
        others = {
            case: spent
            for test, spent in usual.items()
            for case in self.coverage.others.get(test, ())
        }
        return recorded | others

    def _of_line(self, file: str, line: int) -> set[str]:
        code = self.imports.files[file]
        scope = code.scopes[line]
        lines = self.coverage.lines[file]
        if is_compiled(file) and scope:  # few tests run them uncompiled
            calls = self.imports.lines_that_call(file, scope.split(".")[0])
            return {t for name, at in calls for t in self._of_key(name, at)}
        # What runs at import says nothing of who needs it: a class is tried by who uses it.
        if not code.runs_at_import(line) and (found := lines.get(code.keys[line])):
            return found
        if scope and (found := _of_scope(lines, scope)):
            return found
        names = re.findall(r"^\s*(\w+)", code.lines[line - 1])
        users = {
            test
            for name in names
            for other in self.coverage.lines.values()
            for key, tests in other.items()
            if re.search(rf"\b{name}\b", key[1])
            for test in tests
        }
        return users | {test for tests in lines.values() for test in tests}

    def _of_key(self, file: str, line: int) -> set[str]:
        return self.coverage.lines[file].get(self.imports.files[file].keys[line], set())


def one_case_of_each_first(tests: set[str], seconds: dict[str, float]) -> list[str]:
    """Cases of one test notice the same: a slip that lives has then met as many tests as can be."""
    seen: Counter[str] = Counter()
    turns = {}
    for test in sorted(tests, key=lambda name: (seconds[name], name)):
        turns[test] = seen[without_case(test)]
        seen[without_case(test)] += 1
    return sorted(turns, key=lambda name: turns[name])


def _of_scope(lines: dict[Key, set[str]], scope: str) -> set[str]:
    return {
        test
        for (name, _, _), tests in lines.items()
        if name == scope or name.startswith(scope + ".")
        for test in tests
    }
