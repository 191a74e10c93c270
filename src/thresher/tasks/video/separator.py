"""Video in; background, foreground and masks of what moves out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from thresher.engine import any_stops, list_callbacks
from thresher.engine.progress import ProgressBar
from thresher.estimators import OnlineRobustNMF
from thresher.estimators.parameters import (
    CALLBACKS,
    COUNT,
    MAY_CHANGE,
    POSITIVE,
    SEED,
    KeepsParameters,
)
from thresher.estimators.reports import write_report
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.streams import Source
from thresher.streams.reader import TWICE
from thresher.streams.writing import About, write_results
from thresher.tasks.video.file import pack_separator, unpack_separator
from thresher.tasks.video.frames import (
    checked_frames,
    comes_by_itself,
    count_of,
    first_of,
    in_cuts,
    pieces_of,
)
from thresher.tasks.video.results import SceneChange, VideoSeparation, WatchedFrames
from thresher.tasks.video.scene import (
    Rules,
    Scene,
    SeparatedFrame,
    begun,
    room_for,
    separation,
    watched,
)

_ATOMS = 1  # of the light; with three, slow objects were taken for light (benchmarks/video.py)
_AT_ONCE = 64  # frames of an array that are looked at between two updates of the progress bar


class VideoSeparator(KeepsParameters, BaseEstimator):
    r"""Tell what moves in a video from what stays, while it runs.

    The background of a frame is a low-rank model of its light times the detail of each pixel, and a
    pixel moves if the size :math:`e` of its residual is above

    .. math:: k\,(f + s),

    with the noise :math:`f` of the picture and a scale :math:`s` of its own for every pixel, the
    running upper quantile of its residuals; then a 5 × 5 median filter. A frame is judged by what
    came before it and then learned from, in memory that does not depend on the number of frames.

    Parameters
    ----------
    estimator : robust estimator, optional
        What learns the light of the scene, from coarse frames: anything with `separate`, and
        `partial_fit` or `fit`. By default `OnlineRobustNMF` with one atom.
    threshold : float
        k: a larger one finds less, a smaller one more.
    patience : int
        Frames after which something that stands still belongs to the background.
    causal : bool
        Whether a frame is judged by those before it alone. If not, all frames are looked at once to
        learn from, and then again to judge them.
    align : bool
        Whether frames of a camera that shakes are shifted back where that helps.
    shadows : bool
        Whether shadows of what moves are part of the masks. If not, what is a darker version of the
        background, its texture and colours kept, is left out: dark things before an even background
        as well, so this is for colours or texture.
    random_state : int, RandomState or None
        Of the default estimator.
    callbacks : iterable of callables, optional
        Called by `separate` with a `thresher.tasks.video.WatchedFrames` after each batch of a
        source; returning True ends the run.
    verbose : int
        1 shows a progress bar with the frames a second on a terminal; 0 does not.

    Attributes
    ----------
    n_frames_seen_ : int
    changes_ : list of SceneChange
        When the scene became another at once, and was begun anew.
    n_aligned_ : int
        How many frames were shifted back.
    frames_per_second_ : float
        Of the last call, with what was done with the batches of a source.
    light_ : array of shape (K, rows of cells, cells in a row), or with 3 colours, or None
        The atoms of the light, as coarse pictures.

    Examples
    --------
    >>> from thresher import VideoSeparator
    >>> from thresher.datasets import make_surveillance_scene
    >>> scene = make_surveillance_scene(100, random_state=0)
    >>> background, foreground, mask = VideoSeparator(random_state=0).separate(scene.frames)
    >>> mask.shape
    (100, 72, 96)
    """

    _may_change = MAY_CHANGE | {"threshold", "patience", "align", "causal", "shadows"}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [POSITIVE],
        "patience": [COUNT],
        "causal": ["boolean"],
        "align": ["boolean"],
        "shadows": ["boolean"],
        "callbacks": CALLBACKS,
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold: float = 1.5,
        patience: int = 120,
        causal: bool = True,
        align: bool = True,
        shadows: bool = True,
        random_state: Any = None,
        callbacks: Iterable[Callable[[WatchedFrames], bool | None]] | None = None,
        verbose: int = 1,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.patience = patience
        self.causal = causal
        self.align = align
        self.shadows = shadows
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(self, frames: Any, y: Any = None) -> Self:
        """Forget what was seen, and learn a scene from frames.

        Parameters
        ----------
        frames : array of shape (n, height, width) or (n, height, width, 3), or a source of frames
        y : ignored
        """
        self._check_parameters()
        return self._learned(frames, None)

    def partial_fit(self, frames: Any, y: Any = None) -> Self:
        """Learn further from frames, without a result; as `separate`, but for what it gives."""
        self._check_parameters()
        return self._learned(frames, self._scene_so_far())

    # ------------------------------------------------------------------ separating

    def separate(self, frames: Any, *, write: Any = None) -> Any:
        """Judge frames one after the other, and learn from each after it was judged.

        The first frame of all is background. Later calls go on where the last one ended.

        Parameters
        ----------
        frames : array of shape (n, height, width) or (n, height, width, 3), or a source of frames
            Whole numbers or floats, not negative. A source is what `thresher.open` gives of a video
            or camera, or any iterable of frames or of arrays of frames.
        write : mapping, optional
            Where to put ``background``, ``foreground`` and ``mask``, or some of them, while the
            video runs: paths (``.mp4``, ``.mkv``, ``.npy``) or arrays. Masks are white in a video.

        Returns
        -------
        VideoSeparation, or an iterator of them
            ``background``, ``foreground`` and ``mask``. Of a source, one for each batch, judged
            when it is asked for. With ``write``, the paths.
        """
        self._check_parameters()
        return self._separated(frames, write, 0)

    def resume(self, source: Any, *, write: Any = None) -> Any:
        """Go on with a source after the frames that were seen before, as `separate` would have.

        Parameters
        ----------
        source : source of frames, or array
            The same as before, from its beginning.
        write : mapping, optional
            As for `separate`; what was written before is elsewhere.
        """
        self._check_parameters()
        self._check_begun()
        rest = source if comes_by_itself(source) else source[self.n_frames_seen_ :]
        return self._separated(rest, write, self.n_frames_seen_ if rest is source else 0)

    def _separated(self, frames: Any, write: Any, start: int) -> Any:
        if not self.causal:
            _check_comes_again(frames)
            self._learned(frames, self._scene_so_far())
        if write is not None:
            return self._written(frames, write, start)
        if comes_by_itself(frames):
            return self._batches(pieces_of(frames, start), count_of(frames))
        whole = checked_frames(frames, self._frame_shape())
        scene, found, start = self._scene_so_far(), room_for(whole), 0
        with self._telling(len(whole)) as told:
            for piece in in_cuts(whole, _AT_ONCE):
                scene, judged = self._watched(scene, piece)
                here = VideoSeparation(*(part[start : start + len(piece)] for part in found))
                separation(piece, judged, scene.unit, here)
                start += len(piece)
                told(len(piece))
        assert scene is not None  # there is a frame
        self._adopt(scene, whole.shape[1:])
        return found

    def _batches(self, pieces: Iterator[Any], total: int | None) -> Iterator[VideoSeparation]:
        callbacks = list(self.callbacks or ())
        with self._telling(total) as told:
            for given in pieces:
                piece = checked_frames(given, self._frame_shape())
                scene, judged = self._watched(self._scene_so_far(), piece)
                self._adopt(scene, piece.shape[1:])
                told(len(piece))
                found = separation(piece, judged, scene.unit)
                stops = any_stops(callbacks, WatchedFrames(piece, found, self))
                yield found
                if stops:
                    return

    def _written(self, frames: Any, write: Any, start: int) -> Any:
        source = frames if isinstance(frames, Source) else None
        given = frames if comes_by_itself(frames) else iter([frames])
        head, pieces = first_of(pieces_of(given, start))
        shape = checked_frames(head, self._frame_shape()).shape[1:]
        pixels = [f"pixel{number}" for number in range(int(np.prod(shape)))]
        rate = source.reader.rate if source is not None else None
        pictures = About(pixels, shape, rate)
        about = {"background": pictures, "foreground": pictures, "mask": About([], shape[:2], rate)}
        batches = (
            part._replace(mask=np.where(part.mask, np.uint8(255), np.uint8(0)))
            for part in self._batches(pieces, count_of(frames))
        )
        return write_results(batches, write, about, source.reader.paths if source else ())

    def report(self, path: str | Path) -> Path:
        """Write a page with the background and the scene changes, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        """
        return write_report(self, self._page(), path, "separate(frames)")

    # -------------------------------------------------------------------- details

    def _page(self) -> Any:
        from thresher.tasks.video.report import video_report  # draws, which learning does not

        return video_report(self)

    def _learned(self, frames: Any, scene: Scene | None) -> Self:
        arrives = comes_by_itself(frames)
        shape = self._frame_shape() if scene is not None else None
        whole = frames if arrives else checked_frames(frames, shape)
        _, pieces = first_of(pieces_of(whole) if arrives else in_cuts(whole, _AT_ONCE))
        with self._telling(count_of(whole)) as told:
            for given in pieces:
                piece = checked_frames(given, shape)
                shape = piece.shape[1:]
                scene, _ = self._watched(scene, piece)
                if arrives:  # what comes by itself may never end
                    self._adopt(scene, shape)
                told(len(piece))
        assert scene is not None  # there was a frame
        assert shape is not None
        return self._adopt(scene, shape)

    def _watched(self, scene: Scene | None, frames: Array) -> tuple[Scene, list[SeparatedFrame]]:
        rules = Rules(
            self._estimator(),
            float(self.threshold),
            self.patience,
            self.align,
            self.shadows,
            self.causal,
        )
        return watched(begun(frames[0]) if scene is None else scene, frames, rules)

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # One thread: there is too little to do for two.
        return OnlineRobustNMF(_ATOMS, n_jobs=1, random_state=self.random_state, verbose=0)

    @contextmanager
    def _telling(self, total: int | None) -> Iterator[Callable[[int], None]]:
        """A progress bar, and the frames a second; to be told of frames that are done."""
        began, done = time.perf_counter(), 0

        def told(n_frames: int) -> None:
            nonlocal done
            done += n_frames
            self._speed = done / max(time.perf_counter() - began, 1e-9)
            bar.update(done, f"{self._speed:,.0f} frames/s")

        with ProgressBar(f"{type(self).__name__}: frames", total, self.verbose > 0) as bar:
            yield told

    def _adopt(self, scene: Scene, shape: tuple[int, ...]) -> Self:
        """Take all of it over at once, so that an interrupt leaves the old state or the new one."""
        self.__dict__.update(_scene=scene, _shape=shape, _began_as=self._identity())
        return self

    @property
    def n_frames_seen_(self) -> int:
        """Frames that were judged and learned from."""
        self._check_begun()
        return self._scene.n_frames

    @property
    def frames_per_second_(self) -> float:
        """How fast frames went by in the last call; NaN of a model that was loaded."""
        self._check_begun()
        return getattr(self, "_speed", float("nan"))

    @property
    def n_aligned_(self) -> int:
        """Frames that were shifted back, because the camera had moved."""
        self._check_begun()
        return self._scene.n_aligned

    @property
    def changes_(self) -> list[SceneChange]:
        """When the scene became another at once: the last thousand times."""
        self._check_begun()
        return [SceneChange(frame) for frame in self._scene.changes]

    @property
    def light_(self) -> Array | None:
        """The atoms of the light of the scene, as coarse pictures; None before any is learned."""
        self._check_begun()
        scene = self._scene
        atoms = getattr(scene.light.estimator, "components_", None)
        if atoms is None:
            return None
        height, width, colours = scene.detail.shape
        shape = (len(atoms), height // scene.side, width // scene.side, colours)
        return np.asarray(atoms.reshape(shape if colours > 1 else shape[:3]))

    def _scene_so_far(self) -> Scene | None:
        if not hasattr(self, "_scene"):
            return None
        self._check_goes_on()
        return self._scene

    def _frame_shape(self) -> tuple[int, ...] | None:
        return getattr(self, "_shape", None)

    def _check_begun(self) -> None:
        if not hasattr(self, "_scene"):
            raise NotFittedError(
                "This separator has not seen a frame yet; call separate or fit first."
            )

    def _check_parameters(self) -> None:
        list_callbacks(self)
        self._validate_params()
        given = self.estimator
        learns = hasattr(given, "separate") and hasattr(given, "fit")
        if given is not None and (isinstance(given, type) or not learns):
            raise ValueError(
                f"estimator={given!r} cannot tell light from what moves; give a robust estimator "
                "of the library, such as OnlineRobustNMF(3), or leave it out."
            )

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        return pack_separator(self)

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        return unpack_separator(contents)


def _check_comes_again(frames: Any) -> None:
    """Refuse what can be read once only, where it has to be read twice."""
    once = isinstance(frames, Iterator) or (isinstance(frames, Source) and frames.reader.once)
    if once:
        raise ValueError(f"causal=False looks at every frame twice. {TWICE}")
