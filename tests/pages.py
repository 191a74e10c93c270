"""Pages of the documentation, run as they are printed."""

import re
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "docs"


def run_page(name: str) -> list[dict[str, Any]]:
    """Run every block of Python of a page by itself; the names that each has made."""
    page = (_FOLDER / name).read_text(encoding="utf-8")
    made = []
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        made.append({})
        exec(compile(block, f"docs/{name}", "exec"), made[-1])
    return made
