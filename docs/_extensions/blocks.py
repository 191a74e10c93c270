"""Run the Python of every page while it is read; show what it prints, and its pictures.

A page is one program: its blocks run in order, in an empty folder, with warnings as errors. What a
block prints is shown below it. Behind a block, ``<!-- picture: what it shows -->`` stands for the
matplotlib figure that the page has named ``figure``; the words are its alternative text.
"""

import contextlib
import io
import logging
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from pages import blocks_of, run_blocks
from thresher.plotting import to_png
from thresher.plotting.style import INK

_PICTURES = "_build/pictures"
_STYLE = {
    "axes.prop_cycle": mpl.cycler(color=["#c08318", "#3f7fbf", "#5d9c59", "#b0588f"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "legend.frameon": False,
    **{f"{part}.color": INK for part in ("text", "xtick", "ytick")},
    **{f"axes.{part}": INK for part in ("labelcolor", "edgecolor")},
}
"""Pictures of pyplot stand on a transparent ground too, on light pages and on dark ones."""


def run_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Put pictures and printed lines behind the blocks of a page."""
    page = source[0]
    if not blocks_of(page):
        return
    parts, done = [], 0
    with _workplace():
        steps = run_blocks(page, f"{name}.md")
        for number in range(len(blocks_of(page))):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                block, made = _next(steps, name)
            parts.append(page[done : block.end])
            if lines := printed.getvalue():
                parts.append(f"\n```{{code-block}} text\n:class: printed\n\n{lines}```\n")
            if block.picture:
                address = _keep_picture(app, made["figure"], name, number)
                parts.append(f"\n![{block.picture}]({address})\n\n")
            done = block.after
    source[0] = "".join([*parts, page[done:]])


def _next(steps: Any, name: str) -> Any:
    """The next block that has run, or an error that names the page and the line."""
    try:
        return next(steps)
    except Exception as error:
        line, trace = 0, error.__traceback__
        while trace:
            if trace.tb_frame.f_code.co_filename == f"{name}.md":
                line = trace.tb_lineno
            trace = trace.tb_next
        raise ExtensionError(f"docs/{name}.md, line {line}, does not run: {error!r}") from error


@contextlib.contextmanager
def _workplace() -> Any:
    """An empty folder, warnings as errors, one style of pictures; what a page logs ends with it."""
    root, own = logging.getLogger(), logging.getLogger("thresher")
    handlers, level = list(root.handlers), own.level
    root.handlers.clear()  # a style of the theme installs one that tells everything
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(),
        mpl.rc_context(_STYLE),
    ):
        warnings.simplefilter("error")
        try:
            yield
        finally:
            plt.close("all")
            root.handlers[:] = handlers
            own.setLevel(level)


def _keep_picture(app: Sphinx, figure: Any, name: str, number: int) -> str:
    """Write a picture where Sphinx finds it; its address, as the page has to write it."""
    path = Path(app.srcdir) / _PICTURES / f"{name.replace('/', '_')}_{number}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_png(figure))
    return os.path.relpath(path, (Path(app.srcdir) / name).parent)


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to pages that are read."""
    app.connect("source-read", run_page)
    return {"parallel_read_safe": False}  # the folder is that of the process
