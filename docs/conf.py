"""How the pages are built: ``python -m sphinx -W -b html docs build/docs``, without a network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "tests")]  # tests/pages.py

import thresher

project = "Thresher"
copyright = "2026, the Thresher developers"
version = release = thresher.__version__

extensions = [
    "accessible",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "api_members",
    "blocks",
    "decisions",
    "mathml",
]
exclude_patterns = ["_build", "_extensions", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
numpydoc_show_class_members = (
    False  # the template lists them, without what is inherited from others
)
numpydoc_class_members_toctree = False
default_role = "literal"  # `names` in docstrings

html_theme = "furo"
html_title = f"Thresher {release}"
html_static_path = ["_static"]
html_css_files = ["thresher.css"]
html_copy_source = False
html_show_sphinx = False
