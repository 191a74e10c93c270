"""The part of docs/lab/mutants.md that tells of the last draw."""

import re
from collections import Counter
from typing import Any

_MARKS = "<!-- the last draw -->", "<!-- end of the last draw -->"
_DRAW = """
## The last draw

`python tests/mutants.py --seed {seed} --count {count} --write` wrote this part. Of the {lines:,}
lines in which a slip can be made, so many were drawn. **{dead} of {fair} die ({share:.1%}).**
{equivalent} more change nothing that can be seen; `tests/mutants.toml` has a proof for each.
{broken} were no programs (a name that does not exist, a kernel that does not compile) and were
replaced by the next of the draw.

| kind of slip | drawn | die |
|---|---|---|
{kinds}

{survivors}"""


def with_draw(page: str, told: str) -> str:
    """The page with another account between its marks."""
    begin, end = _MARKS
    if begin not in page or end not in page:
        raise ValueError(f"The page has no {begin} and {end}.")
    inside = re.compile(f"(?<={re.escape(begin)}).*(?={re.escape(end)})", re.DOTALL)
    return inside.sub(lambda _: told, page)


def told_draw(about: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """A short account in Markdown."""
    outcomes = Counter(about["outcomes"])
    fair = [r for r in results if r["outcome"] in {"killed", "timeout", "survived"}]
    alive = [r for r in fair if r["outcome"] == "survived"]
    drawn, living = Counter(r["kind"] for r in fair), Counter(r["kind"] for r in alive)
    kinds = [f"| {kind} | {n} | {n - living[kind]} |" for kind, n in drawn.most_common()]
    return _DRAW.format(
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
    return "### What survived\n\n" + "".join(told)
