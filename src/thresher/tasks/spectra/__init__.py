"""Mixed spectra, and what they are mixed of."""

from thresher.tasks.spectra.unmixer import SpectralUnmixer

__all__ = ["SpectralUnmixer"]
