"""Pictures of factorisations: pure functions from arrays to matplotlib figures."""

from .curves import convergence_curve
from .frames import atom_grid, frame_grid
from .style import to_png

__all__ = ["atom_grid", "convergence_curve", "frame_grid", "to_png"]
