"""Reports as single HTML files that need nothing from outside."""

from .beside import tell_beside, timed
from .builder import Report
from .run import tell_run, versions

__all__ = ["Report", "tell_beside", "tell_run", "timed", "versions"]
