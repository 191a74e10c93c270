"""Recordings in, their parts out: notes, drums, anything with a spectrum of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from thresher.estimators import OnlineNMF
from thresher.estimators.parameters import KeepsParameters, check_parameters, is_whole
from thresher.estimators.reporting import write_page
from thresher.estimators.saving import pack, packed_parameters, unpack, unpacked_model
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.sound.audio import Audio, audio_of
from thresher.tasks.sound.onsets import Onset, onsets_of
from thresher.tasks.sound.spectrogram import Spectrogram, sizes, wiener

POWERS = {"kl": 1, "is": 2}
"""Of the size of a spectrum that each divergence is for."""
_SILENCE = 1e-10  # of the largest value, added to all: the divergences know no zeros


class SoundSeparation(NamedTuple):
    """A recording taken apart: the sum of ``parts`` is the recording."""

    parts: Array
    """(K, n), or (K, n, channels)."""
    activations: Array
    """How loud each part is in each window, (frames, K)."""
    times: Array
    """Middles of the windows, in seconds."""


class SoundSeparator(KeepsParameters, BaseEstimator):
    r"""Take recordings apart into sounds that have a spectrum each: notes, drums, hums.

    The sizes of short-time spectra are factorised, :math:`|Z|^p \approx C D`, in the
    Kullback–Leibler (p = 1) or the Itakura–Saito divergence (p = 2), online (`OnlineNMF`). Every
    window is then shared out by what the parts say of it (Wiener's filter), so that the parts add
    up to the recording.

    Parameters
    ----------
    n_components : int
        Parts.
    divergence : {"kl", "is"}
        ``kl`` hears what is loud, ``is`` what is soft as well.
    window : int
        Samples of a window, a multiple of four: long ones tell notes apart, short ones beats.
    init : array of shape (K, window // 2 + 1), optional
        Parts that are known, such as `parts_` of another separator.
    frozen_atoms : list of int, optional
        Which of them stay as they are; with all of them, nothing is learned, and recordings are
        taken apart by known parts.
    n_starts : int
        Beginnings to try; the best is kept. What is known needs no other.
    random_state : int, RandomState or None
    verbose : int

    Attributes
    ----------
    parts_ : array of shape (K, window // 2 + 1)
        The spectrum of each part.
    rate_ : int
        Samples in a second.
    frequencies_ : array of shape (window // 2 + 1,)
        In hertz.
    model_ : OnlineNMF

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import SoundSeparator
    >>> time = np.arange(16000) / 8000
    >>> low, high = np.sin(880 * np.pi * time), np.sin(2640 * np.pi * time) * (time > 1)
    >>> separator = SoundSeparator(2, random_state=0, verbose=0).fit(low + high, rate=8000)
    >>> separator.separate(low + high, rate=8000).parts.shape
    (2, 16000)
    """

    model_: OnlineNMF
    rate_: int

    def __init__(
        self,
        n_components: int = 4,
        *,
        divergence: str = "kl",
        window: int = 2048,
        init: Any = None,
        frozen_atoms: Any = None,
        n_starts: int = 1,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.divergence = divergence
        self.window = window
        self.init = init
        self.frozen_atoms = frozen_atoms
        self.n_starts = n_starts
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, audio: Any, y: Any = None, *, rate: int | None = None) -> Self:
        """Learn the parts of a recording.

        Parameters
        ----------
        audio : array of shape (n,) or (n, channels), or path of a WAV or FLAC file
            Floats, or whole numbers, which are divided by the largest of their type.
        y : ignored
        rate : int
            Samples in a second; files know theirs.
        """
        self._check_parameters()
        given = audio_of(audio, rate)
        return self._adopt(self._new_model().fit(self._frames(given)), given.rate)

    def partial_fit(self, audio: Any, y: Any = None, *, rate: int | None = None) -> Self:
        """Learn from a block of a recording: one step."""
        begun = hasattr(self, "model_")
        if begun:
            self._check_goes_on()
        else:
            self._check_parameters()
        given = audio_of(audio, rate)
        self._check_rate(given)
        model = self.model_ if begun else self._new_model()
        return self._adopt(model.partial_fit(self._frames(given)), given.rate)

    def separate(self, audio: Any, *, rate: int | None = None) -> SoundSeparation:
        """Take a recording apart, this one or another, by the parts that were learned."""
        given, spectra, codes = self._coded(audio, rate)
        gram = self._spectrogram(given.rate)
        shared = wiener(spectra, codes, self.parts_)
        parts = np.stack([gram.back(each, len(given.samples)) for each in shared])
        # Rounding of the transform is shared out, so that parts add up to the last bits.
        parts += (given.samples - parts.sum(axis=0)) / len(parts)
        found = parts[..., 0] if given.mono else parts
        return SoundSeparation(found, codes, gram.times(len(codes)))

    def transform(self, audio: Any, *, rate: int | None = None) -> Array:
        """How loud each part is in each window, (frames, K)."""
        return self._coded(audio, rate)[2]

    def onsets(self, audio: Any, *, rate: int | None = None) -> list[Onset]:
        """When each part sets in, in the order of time."""
        given, _, codes = self._coded(audio, rate)
        loudness = codes * np.linalg.norm(self.parts_, axis=1)
        return onsets_of(loudness, self._spectrogram(given.rate).times(len(codes)))

    def report(self, path: str | Path, audio: Any, *, rate: int | None = None) -> Path:
        """Write a page about the parts of a recording, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        audio, rate
            A recording, as in `separate`.
        """
        check_is_fitted(self, "model_")
        # Pictures are drawn with matplotlib, which separating does not need.
        from thresher.tasks.sound.report import sound_report

        return write_page(self, sound_report(self, audio, rate), path, "fit(audio)")

    @property
    def parts_(self) -> Array:
        """Spectra of the parts, in rows."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.components_)

    @property
    def frequencies_(self) -> Array:
        """Of the bins of `parts_`, in hertz."""
        check_is_fitted(self, "model_")
        return np.fft.rfftfreq(self.window, 1 / self.rate_)

    # ------------------------------------------------------------------- details

    def _coded(self, audio: Any, rate: int | None) -> tuple[Audio, Array, Array]:
        check_is_fitted(self, "model_")
        self._check_goes_on()
        given = audio_of(audio, rate)
        self._check_rate(given)
        spectra = self._spectrogram(given.rate).of(given.samples)
        values = self._floored(sizes(spectra, POWERS[self.divergence]))
        return given, spectra, np.asarray(self.model_.transform(values))

    def _frames(self, given: Audio) -> Array:
        spectra = self._spectrogram(given.rate).of(given.samples)
        return self._floored(sizes(spectra, POWERS[self.divergence]))

    def _floored(self, values: Array) -> Array:
        if not values.any():
            raise ValueError("This recording is silent; there is nothing to take apart.")
        return values + _SILENCE * values.max()

    def _spectrogram(self, rate: int) -> Spectrogram:
        return Spectrogram(self.window, rate)

    def _new_model(self) -> OnlineNMF:
        known = self.init is not None
        return OnlineNMF(
            self.n_components,
            divergence=self.divergence,
            init=self.init if known else "auto",
            frozen_atoms=self.frozen_atoms,
            dictionary_set="nonnegative" if known else "auto",
            batch_size=64,
            n_starts=1 if known else self.n_starts,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _check_rate(self, given: Audio) -> None:
        if hasattr(self, "rate_") and given.rate != self.rate_:
            raise ValueError(
                f"This recording has {given.rate} samples in a second, and the parts were learned "
                f"at {self.rate_}; resample it first (scipy.signal.resample_poly)."
            )

    def _adopt(self, model: OnlineNMF, rate: int) -> Self:
        self.__dict__.update(model_=model, rate_=rate, _began_as=self._identity())
        return self

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.divergence not in POWERS:
            raise ValueError(f"divergence={self.divergence!r} must be one of {tuple(POWERS)}.")
        if not is_whole(self.window, 16) or self.window % 4:
            raise ValueError(f"window={self.window!r} must be a multiple of four, 16 or more.")

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        if not hasattr(self, "model_"):
            raise ValueError("This separator has not been fitted; there is nothing to save.")
        inner, document = pack(self.model_)
        arrays = {f"model.{name}": values for name, values in inner.items()}
        parameters = packed_parameters(self, arrays)
        return arrays, {"parameters": parameters, "model": document, "rate": self.rate_}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        separator: Self = unpacked_model(contents)
        model = unpack(contents.inner("model"))
        wanted = separator.window // 2 + 1
        if not isinstance(model, OnlineNMF) or model.components_.shape[1] != wanted:
            raise contents.error("its parts do not suit its windows")
        return separator._adopt(model, contents.integer("rate", 1))


def separate_to(path: Path, separator: SoundSeparator, audio: Any) -> list[Path]:
    """Write the parts of a recording to ``part0.wav``, ``part1.wav``, ... in a folder."""
    from thresher.tasks.sound.audio import write_audio

    found = separator.separate(audio)
    targets = [path / f"part{number}.wav" for number in range(len(found.parts))]
    for target, part in zip(targets, found.parts, strict=True):
        write_audio(target, part, separator.rate_)
    return targets
