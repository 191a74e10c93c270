"""Recordings in, their parts out: notes, drums, anything with a spectrum of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from thresher.engine.progress import ProgressBar
from thresher.estimators.parameters import COUNT, SEED, KeepsParameters, is_whole
from thresher.estimators.registry import frozen_mask
from thresher.estimators.reports import write_report
from thresher.estimators.saving import packed_parameters, unpacked_model
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.sound.audio import Recording, recording_of
from thresher.tasks.sound.convolutive import POWERS, laid_out
from thresher.tasks.sound.onsets import Onset, onsets_of
from thresher.tasks.sound.part_files import part_files, written
from thresher.tasks.sound.patterns import ConvolutiveNMF
from thresher.tasks.sound.spectrogram import Spectrogram
from thresher.tasks.sound.stretches import Stretch, coded, stretch_length, stretches, taken_apart

_FIRST = 8192  # windows of a stream that are learned from as a whole; by judgement
# Of the largest value, added to all: the divergences know no zeros, and Itakura–Saito would learn
# how a note fades into digital silence. Chosen on the made tune: 80 decibels of power.
_SILENCE = 1e-8


class SoundSeparation(NamedTuple):
    """A recording taken apart: the sum of ``parts`` is the recording."""

    parts: Array
    """(K, n), or (K, n, channels)."""
    activations: Array
    """How loud each part is in each window, (frames, K)."""
    times: Array
    """Middles of the windows, in seconds."""


class SoundSeparator(KeepsParameters, BaseEstimator):
    r"""Take recordings apart into sounds of their own: notes, drums, hums.

    The sizes of short-time spectra are explained by parts that sound at some moments,

    .. math:: |Z_{tf}|^p \approx \sum_k \sum_{l < L} c_{t-l,k} \, d_{klf},

    in the Kullback–Leibler (p = 1) or the Itakura–Saito divergence (p = 2). A part is one spectrum
    (L = 1), or a course of several (``n_frames``): a drum that begins with a click and ends in
    a hum. Every window is then shared out by what the parts say of it (Wiener's filter), so that
    the parts add up to the recording. Streams of any length are learned from and taken apart
    in constant memory.

    Parameters
    ----------
    n_components : int
        Parts.
    divergence : {"kl", "is"}
        ``kl`` hears what is loud, ``is`` what is soft as well.
    window : int
        Samples of a window, a multiple of four: long ones tell notes apart, short ones beats.
    n_frames : int
        How many windows a part lasts, a quarter of a window apart. One is for what sounds on, such
        as notes; for drums, take what makes a tenth of a second.
    init : array of shape (K, window // 2 + 1) or (K, n_frames, window // 2 + 1), optional
        Parts that are known, such as `parts_` of another separator.
    frozen_atoms : list of int, optional
        Which of them stay as they are; with all of them, nothing is learned, and recordings are
        taken apart by known parts.
    n_starts : int
        Beginnings to try for some rounds; the best goes on. What is known needs no other.
    random_state : int, RandomState or None
    verbose : int
        1 shows a progress bar on a terminal; 0 does not.

    Attributes
    ----------
    parts_ : array of shape (K, window // 2 + 1), or (K, n_frames, window // 2 + 1)
        The spectrum of each part, or its spectra.
    rate_ : int
        Samples in a second.
    frequencies_ : array of shape (window // 2 + 1,)
        In hertz.
    peaks_ : array of shape (K,)
        Where the spectrum of each part is highest, in hertz.
    model_ : ConvolutiveNMF
        What was learned.

    References
    ----------
    P. Smaragdis, "Convolutive speech bases and their application to supervised speech
    separation", IEEE Transactions on Audio, Speech and Language Processing, 2007.

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

    model_: ConvolutiveNMF
    rate_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [COUNT],
        "n_frames": [COUNT],
        "n_starts": [COUNT],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int = 4,
        *,
        divergence: str = "kl",
        window: int = 2048,
        n_frames: int = 1,
        init: Any = None,
        frozen_atoms: Any = None,
        n_starts: int = 1,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.divergence = divergence
        self.window = window
        self.n_frames = n_frames
        self.init = init
        self.frozen_atoms = frozen_atoms
        self.n_starts = n_starts
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True  # the path of a file
        return tags

    def fit(self, audio: Any, y: Any = None, *, rate: int | None = None) -> Self:
        """Learn the parts of a recording.

        Parameters
        ----------
        audio : array, path, or source of blocks
            An array of shape (n,) or (n, channels), of floats, or of whole numbers, which are
            divided by the largest of their type. The path of a WAV or FLAC file. Or any stream:
            ``thresher.open("long.wav")``, an iterable of blocks, a function that makes one. Of a
            stream, the first 8192 windows are learned from as a whole, and what follows
            step by step, in constant memory.
        y : ignored
        rate : int
            Samples in a second; files know theirs.
        """
        self._check_parameters()
        given = recording_of(audio, rate)
        pieces = self._stretches(given)
        few = None if given.whole else -(-_FIRST // stretch_length(self.n_frames))
        first = islice(pieces, few)
        model = self._new_model().fit(_floored(np.concatenate([piece.values for piece in first])))
        for piece in pieces:
            if piece.values.any():
                model.partial_fit(_floored(piece.values))
        return self._adopt(model, given.rate)

    def partial_fit(self, audio: Any, y: Any = None, *, rate: int | None = None) -> Self:
        """Learn from a block of a recording: one step. From silence nothing is learned."""
        begun = hasattr(self, "model_")
        if begun:
            self._check_goes_on()
        else:
            self._check_parameters()
        given = recording_of(audio, rate)
        self._check_rate(given)
        model = self.model_ if begun else self._new_model()
        values = np.concatenate([piece.values for piece in self._stretches(given)])
        if begun and not values.any():
            return self
        return self._adopt(model.partial_fit(_floored(values)), given.rate)

    def separate(self, audio: Any, *, rate: int | None = None, write: Any = None) -> Any:
        """Take a recording apart, this one or another, by the parts that were learned.

        Parameters
        ----------
        audio, rate
            As in `fit`.
        write : str or Path, optional
            A folder, for a WAV file of each part, ``part0.wav``, ``part1.wav``, ..., written while
            the recording is read.

        Returns
        -------
        SoundSeparation, iterable of these, or list of Path
            Of an array or a path, the whole. Of a stream, one stretch after the other, when
            it is asked for; together they are what the whole would give. With ``write``, the
            files.
        """
        given = self._given(audio, rate)
        if write is not None:
            return write_parts(Path(write), self, given)[0]
        if not given.whole:
            return Anew(lambda: self._separated(given))
        parts, codes, times = zip(*self._separated(given), strict=True)
        return SoundSeparation(
            np.concatenate(parts, axis=1), np.concatenate(codes), np.concatenate(times)
        )

    def transform(self, audio: Any, *, rate: int | None = None) -> Any:
        """How loud each part is in each window, (frames, K); of a stream, stretch by stretch."""
        given = self._given(audio, rate)
        codes = Anew(lambda: (found[skip:] for _, found, skip in self._coded(given)))
        return np.concatenate(list(codes)) if given.whole else codes

    def onsets(self, audio: Any, *, rate: int | None = None) -> list[Onset]:
        """When each part sets in, in the order of time."""
        return self._onsets(self._all_codes(audio, rate))

    def report(self, path: str | Path, audio: Any, *, rate: int | None = None) -> Path:
        """Write a page about the parts of a recording, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        audio, rate
            A recording, as in `separate`.
        """
        codes = self._all_codes(audio, rate)
        # Pictures are drawn with matplotlib, which separating does not need.
        from thresher.tasks.sound.report import sound_report

        return write_report(self, sound_report(self, codes), path, "fit(audio)")

    @property
    def parts_(self) -> Array:
        """Spectra of the parts, in rows; of parts that last, one for each window."""
        check_is_fitted(self, "model_")
        parts = self.model_.components_
        return parts[:, 0] if self.n_frames == 1 else parts

    @property
    def frequencies_(self) -> Array:
        """Of the bins of `parts_`, in hertz."""
        check_is_fitted(self, "model_")
        return np.fft.rfftfreq(self.window, 1 / self.rate_)

    @property
    def peaks_(self) -> Array:
        """Where the spectrum of each part is highest, in hertz."""
        frequencies = self.frequencies_
        return frequencies[self.model_.components_.sum(axis=1).argmax(axis=1)]

    # ------------------------------------------------------------------- details

    def _given(self, audio: Any, rate: int | None) -> Recording:
        check_is_fitted(self, "model_")
        self._check_goes_on()
        given = recording_of(audio, rate)
        self._check_rate(given)
        return given

    def _stretches(self, given: Recording) -> Iterator[Stretch]:
        gram = Spectrogram(self.window, given.rate)
        total = None if given.n_samples is None else gram.n_frames(given.n_samples)
        with ProgressBar("SoundSeparator: windows", total, self.verbose > 0) as bar:
            for piece in stretches(given, gram, self.n_frames, POWERS[self.divergence]):
                yield piece
                bar.update(piece.first + len(piece.values))

    def _coded(self, given: Recording) -> Iterator[tuple[Stretch, Array, int]]:
        return coded(self._stretches(given), self._codes, self.n_frames)

    def _all_codes(self, audio: Any, rate: int | None) -> Array:
        codes = self._coded(self._given(audio, rate))
        return np.concatenate([found[skip:] for _, found, skip in codes])

    def _codes(self, values: Array) -> Array:
        """Of silent windows zero; of others independent of how loud they are."""
        top = values.max(axis=None if self.n_frames > 1 else 1, keepdims=True)
        scaled = values / np.where(top > 0, top, 1.0) + _SILENCE
        return np.asarray(self.model_.transform(scaled) * top)

    def _separated(self, given: Recording) -> Iterator[SoundSeparation]:
        gram, pieces = Spectrogram(self.window, given.rate), self._coded(given)
        for parts in taken_apart(pieces, self.model_.components_, gram):
            yield SoundSeparation(*parts)

    def _loudness(self, codes: Array) -> Array:
        """Of each part in each window, (frames, K)."""
        size = np.linalg.norm(self.model_.components_, axis=2)
        side = laid_out(codes, self.n_frames).reshape(len(codes), *size.shape)
        return np.einsum("tkl,kl->tk", side, size)

    def _onsets(self, codes: Array) -> list[Onset]:
        times = Spectrogram(self.window, self.rate_).times(0, len(codes))
        return onsets_of(self._loudness(codes), times)

    def _new_model(self) -> ConvolutiveNMF:
        known = None if self.init is None else self._known_parts()
        frozen = frozen_mask(self.frozen_atoms, self.n_components)
        if known is None and frozen is not None:
            raise ValueError("frozen_atoms= keeps known parts as they are; give them as init=.")
        return ConvolutiveNMF(
            self.n_components,
            self.n_frames,
            self.divergence,
            known,
            frozen,
            self.n_starts,
            self.random_state,
        )

    def _known_parts(self) -> Array:
        known = np.array(self.init, dtype=np.float64)
        wanted = self.n_components, self.n_frames, self.window // 2 + 1
        flat = (wanted[0], wanted[2]) if self.n_frames == 1 else wanted
        if known.shape not in (flat, wanted):
            raise ValueError(
                f"init has the shape {known.shape}; {self.n_components} parts of {self.n_frames} "
                f"windows of {wanted[2]} frequencies need {wanted}."
            )
        known = known.reshape(wanted)
        sums = known.sum(axis=(1, 2))
        if not (np.isfinite(known).all() and (known >= 0).all() and (sums > 0).all()):
            raise ValueError("init must have finite numbers, none negative, and no part of zeros.")
        return known

    def _check_rate(self, given: Recording) -> None:
        if hasattr(self, "rate_") and given.rate != self.rate_:
            raise ValueError(
                f"This recording has {given.rate} samples in a second, and the parts were learned "
                f"at {self.rate_}; resample it first (scipy.signal.resample_poly)."
            )

    def _adopt(self, model: ConvolutiveNMF, rate: int) -> Self:
        self.__dict__.update(model_=model, rate_=rate, _began_as=self._identity())
        return self

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.divergence not in POWERS:
            raise ValueError(f"divergence={self.divergence!r} must be one of {tuple(POWERS)}.")
        if not is_whole(self.window, 16) or self.window % 4:
            raise ValueError(f"window={self.window!r} must be a multiple of four, 16 or more.")
        self._new_model()  # refuses parts that do not fit

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        if not hasattr(self, "model_"):
            raise NotFittedError("This separator has not been fitted; there is nothing to save.")
        model = self.model_
        arrays = {"parts": model.components_, "N": model.N_, "P": model.P_}
        document = {"rate": self.rate_, "n_seen": model.n_seen_, "unit": model.unit_}
        return arrays, {"parameters": packed_parameters(self, arrays), **document}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        separator: Self = unpacked_model(contents)
        separator._check_parameters()
        shape = separator.n_components, separator.n_frames, separator.window // 2 + 1
        model = separator._new_model()
        model.components_, model.N_ = (contents.array(name, shape) for name in ("parts", "N"))
        per = 1 if separator.divergence == "kl" else shape[2]
        model.P_ = contents.array("P", (*shape[:2], per))
        model.n_seen_, model.unit_ = contents.integer("n_seen", 1), contents.number("unit")
        positive = model.unit_ > 0 and (model.components_ >= 0).all()
        if not (positive and (model.N_ >= 0).all() and (model.P_ >= 0).all()):
            raise contents.error("what was learned has negative numbers")
        return separator._adopt(model, contents.integer("rate", 1))


def write_parts(
    folder: Path, separator: SoundSeparator, given: Recording
) -> tuple[list[Path], Array]:
    """Write the parts of a recording to a folder; the files, and how loud the parts are."""
    files = part_files(folder, separator.n_components)
    pieces = written(separator._separated(given), files, given)
    return files, np.concatenate([piece.activations for piece in pieces])


class Anew:
    """What a stream gives, one after the other; iterating again reads and works again."""

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())


def _floored(values: Array) -> Array:
    if not values.any():
        raise ValueError("This recording is silent; there is nothing to take apart.")
    return values + _SILENCE * values.max()
