"""Pictures of factorisations: pure functions from arrays to matplotlib figures."""

from .bars import bar_panels, share_bars
from .boundaries import paint_boundaries
from .choices import choice_curve
from .curves import convergence_curve
from .frames import atom_grid, frame_grid
from .profiles import profile_panels
from .series import series_panels
from .shares import share_rows
from .style import for_page, to_png

__all__ = [
    "atom_grid",
    "bar_panels",
    "choice_curve",
    "convergence_curve",
    "for_page",
    "frame_grid",
    "paint_boundaries",
    "profile_panels",
    "series_panels",
    "share_bars",
    "share_rows",
    "to_png",
]
