"""Tables of sensors without gaps and glitches."""

from thresher.tasks.tables.cleaner import Cleaned, TableCleaner

__all__ = ["Cleaned", "TableCleaner"]
