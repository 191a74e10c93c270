"""Sound to spectra of short times and back, so that parts of spectra are parts of the sound."""

from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, rfft
from scipy.signal.windows import hann

from thresher.linalg import Array

_OVERLAP = 4  # windows at every moment
_SQUARES = 1.5  # of the windows at a moment, summed: what being windowed twice multiplies by


class Spectrogram(NamedTuple):
    """A short-time Fourier transform with Hann windows, a quarter of a window apart.

    The first window has one quarter in the recording, and so has the last one, or less: every
    sample is in four windows.
    """

    window: int
    rate: int

    @property
    def hop(self) -> int:
        """Samples from one window to the next."""
        return self.window // _OVERLAP

    @property
    def before(self) -> int:
        """Samples of silence before a recording that the first window has."""
        return self.window - self.hop

    def n_frames(self, n_samples: int) -> int:
        """Windows of a recording."""
        return -(-n_samples // self.hop) + _OVERLAP - 1

    def n_samples(self, n_frames: int) -> int:
        """The most that a recording of so many windows has."""
        return (n_frames - _OVERLAP + 1) * self.hop

    def padded(self, samples: Array) -> Array:
        """A recording with the silence around it that its windows have."""
        after = self.n_frames(len(samples)) * self.hop - len(samples)
        return np.pad(samples, ((self.before, after), (0, 0)))

    def of(self, padded: Array) -> Any:
        """Complex spectra of the windows that are there in full, (channels, frames, bins)."""
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.window, axis=0)
        # (frames, channels, window) → (channels, frames, bins)
        return np.moveaxis(rfft(frames[:: self.hop] * self._shape(), axis=2), 1, 0)

    def back(self, spectra: Any) -> Array:
        """Samples of complex spectra (..., frames, bins), whose windows are added up: (..., n).

        So as `of` was given them, but for the first and the last ``before`` samples, which have too
        few windows.
        """
        frames = irfft(spectra, self.window, axis=-1) * (self._shape() / _SQUARES)
        quarters = frames.reshape(*frames.shape[:-1], _OVERLAP, self.hop)
        n = frames.shape[-2]
        sound = np.zeros((*frames.shape[:-2], n + _OVERLAP - 1, self.hop))
        for quarter in range(_OVERLAP):
            sound[..., quarter : quarter + n, :] += quarters[..., quarter, :]
        return sound.reshape(*sound.shape[:-2], -1)

    def times(self, first: int, n_frames: int) -> Array:
        """The middle of each window, in seconds."""
        return (np.arange(first, first + n_frames) - 1) * self.hop / self.rate

    def _shape(self) -> Array:
        return np.asarray(hann(self.window, sym=False))


def sizes(spectra: Any, power: int) -> Array:
    """What is factorised: sizes of the spectra, over all channels, to a power."""
    square: Array = np.mean(spectra.real**2 + spectra.imag**2, axis=0)
    return square if power == 2 else np.sqrt(square)


def wiener(spectra: Any, models: Array) -> Any:
    r"""Spectra shared out by what the parts say: :math:`Z_k = Z \, \Lambda_k / \sum_j \Lambda_j`.

    Where no part has anything, all have the same share; so parts add up to the whole everywhere.

    Parameters
    ----------
    spectra : complex array of shape (channels, frames, bins)
    models : array of shape (K, frames, bins)

    Returns
    -------
    array of shape (K, channels, frames, bins)
    """
    total = models.sum(axis=0)
    share = np.divide(models, total, out=np.full_like(models, 1 / len(models)), where=total > 0)
    return share[:, None] * spectra
