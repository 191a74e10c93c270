"""The page that tells of a run: docs/lab/mutants.md."""

from collections import Counter
from typing import Any

_HEAD = """# Which mistakes the tests notice

`python tests/mutants.py --record --count {count} --jobs 2 --write` makes this page. It draws lines
at random from all {lines:,} lines of the library in which a slip can be made (seed {seed}), makes
one small slip in each, in a copy, and runs the tests that execute the line, fastest first. Slips
are those that people make: a boundary, a sign, an axis, an argument forgotten or in the wrong
place, a neighbour's name, a line left out. None is made in words that people read. Compiled kernels
take part: theirs are the tests of the Python lines that call them.

**{dead} of {fair} die ({share:.1%}).** {equivalent} more change nothing that can be seen;
`tests/mutants.toml` has a proof for each. {broken} were no programs (a name that does not exist, a
kernel that does not compile) and were replaced by the next of the draw. CI runs the first ten of
the same draw.

| kind of slip | drawn | die |
|---|---|---|
{kinds}

{survivors}"""


def page(about: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """A short account in Markdown."""
    outcomes = Counter(about["outcomes"])
    fair = [r for r in results if r["outcome"] in {"killed", "timeout", "survived"}]
    alive = [r for r in fair if r["outcome"] == "survived"]
    drawn, living = Counter(r["kind"] for r in fair), Counter(r["kind"] for r in alive)
    kinds = [f"| {kind} | {n} | {n - living[kind]} |" for kind, n in drawn.most_common()]
    return _HEAD.format(
        count=sum(outcomes.values()) - outcomes["broken"],
        lines=about["lines"],
        seed=about["seed"],
        dead=len(fair) - len(alive),
        fair=len(fair),
        share=about["share_that_dies"],
        equivalent=outcomes["equivalent"],
        broken=outcomes["broken"],
        kinds="\n".join(kinds),
        survivors=_survivors(alive),
    )


def _survivors(alive: list[dict[str, Any]]) -> str:
    if not alive:
        return "None survived.\n"
    told = [
        f"- `{r['file']}`: {r.get('why', 'not read yet')}\n\n"
        f"  ```diff\n  - {r['old']}\n  + {r['new']}\n  ```\n"
        for r in alive
    ]
    return "## What survived\n\n" + "".join(told)
