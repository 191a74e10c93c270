"""Reports as single HTML files that need nothing from outside."""

from .builder import Report
from .run import tell_run, versions

__all__ = ["Report", "tell_run", "versions"]
