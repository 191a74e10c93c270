"""Reports as single HTML files that need nothing from outside."""

from .builder import Report

__all__ = ["Report"]
