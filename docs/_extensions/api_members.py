"""Leave out of API pages what users did not come for: members that other libraries lend."""

from typing import Any

from sphinx.application import Sphinx

import thresher.solvers


def skip(
    app: Sphinx, kind: str, name: str, member: Any, skipped: bool, options: Any
) -> bool | None:
    """Skip methods of other libraries, parts of solvers, and requests of metadata routing."""
    home = getattr(member, "__module__", None) or getattr(
        getattr(member, "fget", None), "__module__", "thresher"
    )
    lent = not home.startswith("thresher")
    built = home.startswith("thresher.published")  # encoders and learners of solvers
    return True if lent or built or name.endswith("_request") else None


def _own_names() -> None:
    """Call published solvers by the names that users give them, not "alias of" their classes."""
    for name, solver in thresher.solvers.PUBLISHED.items():
        solver.__name__ = name


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to autodoc and autosummary."""
    _own_names()
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
