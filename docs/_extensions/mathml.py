"""Formulas as MathML, by docutils: no script, no network, and screen readers can read them."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_HALVES = re.compile(r"\\[td]?frac\s*(\d)(\d)")
"""Fractions without braces, of which docutils would make one number."""
_SIZES = re.compile(r"\\[bB]igg?[lr]?(?![a-zA-Z])")
"""Sizes of brackets, which docutils does not know; in MathML brackets grow by themselves."""


def _mathml(node: nodes.Element, **how: Any) -> str:
    """The formula of a node, or a warning, with the formula as it was written."""
    try:
        code = _HALVES.sub(r"\\frac{\1}{\2}", node.astext())
        return str(tex2mathml(_SIZES.sub("", code), **how))
    except MathError as error:
        logging.getLogger(__name__).warning("%s: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    writer.body.append(_mathml(node))
    raise nodes.SkipNode


def displayed(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    writer.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer that conf.py names."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True}
