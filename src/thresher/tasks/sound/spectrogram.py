"""Sound to spectra of short times and back, so that parts of spectra are parts of the sound."""

from typing import Any, NamedTuple

import numpy as np
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from thresher.linalg import Array

_OVERLAP = 4  # windows at every moment


class Spectrogram(NamedTuple):
    """A short-time Fourier transform with Hann windows, a quarter of a window apart."""

    window: int
    rate: int

    @property
    def hop(self) -> int:
        """Samples from one window to the next."""
        return self.window // _OVERLAP

    def transform(self) -> ShortTimeFFT:
        """SciPy's."""
        return ShortTimeFFT(hann(self.window, sym=False), self.hop, self.rate)

    def of(self, samples: Array) -> Any:
        """Complex spectra, (channels, frames, bins); short sounds are padded with silence."""
        missing = max(0, self.window - len(samples))
        padded = np.pad(samples, ((0, missing), (0, 0)))
        return np.moveaxis(self.transform().stft(padded.T), 2, 1)

    def back(self, spectra: Any, n_samples: int) -> Array:
        """Samples of complex spectra, (n, channels)."""
        length = max(n_samples, self.window)
        sound = self.transform().istft(np.moveaxis(spectra, 1, 2), k1=length)
        return np.real(sound).T[:n_samples]

    def times(self, n_frames: int) -> Array:
        """The middle of each window, in seconds."""
        first = self.transform().p_min
        return (np.arange(n_frames) + first) * self.hop / self.rate


def sizes(spectra: Any, power: int) -> Array:
    """What is factorised: sizes of the spectra, over all channels, to a power."""
    size: Array = np.sqrt(np.mean(np.abs(spectra) ** 2, axis=0)) ** power
    return size


def wiener(spectra: Any, codes: Array, parts: Array) -> Any:
    r"""Spectra shared out by what the parts say: :math:`Z_k = Z \, c_k d_k / \sum_j c_j d_j`.

    Where no part has anything, all have the same share; so parts add up to the whole everywhere.

    Returns
    -------
    array of shape (K, channels, frames, bins)
    """
    each = codes.T[:, :, None] * parts[:, None, :]
    total = each.sum(axis=0)
    share = np.divide(each, total, out=np.full_like(each, 1 / len(parts)), where=total > 0)
    return share[:, None] * spectra
