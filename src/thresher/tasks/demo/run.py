"""The demonstration: a street is streamed past a model, which takes the traffic out of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from thresher.datasets import SurveillanceScene, make_surveillance_scene
from thresher.linalg import Array
from thresher.metrics import psnr, relative_error, support_scores
from thresher.tasks.demo.foreground import automatic_threshold, best_f1, grey_levels
from thresher.tasks.demo.result import PEAK, DemoResult, Measures, TakenApart, Video

if TYPE_CHECKING:
    from thresher.estimators import OnlineRobustNMF

Progress = Callable[[str, int, int], None]
"""Told a stage, the frames done in it, and their total."""

N_COMPONENTS = 6  # the light of the scene has five parts, which a user would not know; so one more
# By judgement: frames that are learned from, and that are separated, at a time.
BATCH_SIZE = 10
_SEPARATED_AT_ONCE = 50


def run_demo(seed: int = 0, *, quick: bool = False, progress: Progress | None = None) -> DemoResult:
    """Stream a synthetic street through two models, and measure both against the truth.

    Parameters
    ----------
    seed : int
        Of the scene and of the models.
    quick : bool
        A smaller and shorter video.
    progress : callable, optional
        Called with the name of a stage, the frames done, and their total.

    Returns
    -------
    DemoResult
    """
    size = (300, 48, 64) if quick else (900, 72, 96)
    scene = make_surveillance_scene(*size, random_state=seed)
    tell = progress if progress is not None else _silence
    # One thread for both: that is comparable, and a BLAS with several threads can become thirty
    # times slower on a busy machine, as MiniBatchNMF's many small products show.
    with threadpool_limits(1):
        model, ours = _separate_with_thresher(scene, seed, tell)
        peer = _separate_with_minibatch_nmf(scene, seed, tell)
        mask = _watch(scene, seed, tell)
    shape = scene.frames.shape[1:]
    return DemoResult(
        scene=scene,
        thresher=ours,
        minibatch_nmf=peer,
        mask=mask,
        atoms=model.components_.reshape(-1, *shape).astype(np.float32),
        samples=model.history_.column("samples"),
        loss=model.history_.column("loss"),
        loss_of_truth=_loss_of_truth(scene, model.outlier_weight_),
    )


def _separate_with_thresher(
    scene: SurveillanceScene, seed: int, tell: Progress
) -> tuple[OnlineRobustNMF, TakenApart]:
    from thresher.estimators import OnlineRobustNMF, Separation

    model = OnlineRobustNMF(
        N_COMPONENTS,
        n_jobs=1,  # see run_demo; the result does not depend on it
        random_state=seed,
        verbose=0,  # the progress is told by frames, below
    )
    pixels = _rows(scene)
    background, foreground = np.empty((2, *pixels.shape), dtype=np.float32)

    def separate(rows: slice) -> None:
        parts = model.separate(pixels[rows])
        assert isinstance(parts, Separation)  # of an array; streams give an iterator
        background[rows], foreground[rows] = parts.low_rank, parts.outliers

    def learn(rows: slice) -> None:
        model.partial_fit(pixels[rows])

    speeds = _learn_and_separate("Thresher", len(pixels), learn, separate, tell)
    return model, _measured(scene, background, foreground, *speeds)


def _separate_with_minibatch_nmf(scene: SurveillanceScene, seed: int, tell: Progress) -> TakenApart:
    from sklearn.decomposition import MiniBatchNMF

    # Without forgetting it does better on this video than with its default of 0.7.
    model = MiniBatchNMF(N_COMPONENTS, forget_factor=1.0, random_state=seed)
    pixels = _rows(scene)
    background = np.empty(pixels.shape, dtype=np.float32)

    def separate(rows: slice) -> None:
        codes = np.asarray(model.transform(pixels[rows].astype(np.float32)))  # not as a frame
        background[rows] = codes @ model.components_

    def learn(rows: slice) -> None:
        model.partial_fit(pixels[rows].astype(np.float32))

    speeds = _learn_and_separate("MiniBatchNMF", len(pixels), learn, separate, tell)
    return _measured(scene, background, pixels - background, *speeds)


def _watch(scene: SurveillanceScene, seed: int, tell: Progress) -> NDArray[np.bool_]:
    """What moves, judged in every frame by those before it."""
    from thresher.estimators import OnlineRobustNMF
    from thresher.tasks.video import VideoSeparator

    light = OnlineRobustNMF(N_COMPONENTS, n_jobs=1, random_state=seed, verbose=0)
    separator = VideoSeparator(light, verbose=0)
    masks = []
    tell("VideoSeparator watches", 0, len(scene.frames))
    for rows in _batches(len(scene.frames), _SEPARATED_AT_ONCE):
        masks.append(separator.separate(scene.frames[rows]).mask)
        tell("VideoSeparator watches", rows.stop, len(scene.frames))
    return np.concatenate(masks)


def _learn_and_separate(
    name: str,
    n_frames: int,
    learn: Callable[[slice], None],
    separate: Callable[[slice], None],
    tell: Progress,
) -> tuple[float, float]:
    """Go through all frames twice; both speeds, in frames per second."""

    def telling(stage: str) -> Callable[[int], None]:
        return lambda done: tell(f"{name} {stage}", done, n_frames)

    learning = _each_batch(n_frames, BATCH_SIZE, learn, telling("learns"))
    separating = _each_batch(n_frames, _SEPARATED_AT_ONCE, separate, telling("separates"))
    return learning, separating


def _measured(
    scene: SurveillanceScene,
    background: Video,
    foreground: Video,
    learning_speed: float,
    separating_speed: float,
) -> TakenApart:
    shape = scene.frames.shape
    background, foreground = background.reshape(shape), foreground.reshape(shape)
    # One rule for both methods, on the same thing: what the background leaves unexplained.
    levels = grey_levels(scene.frames - background)
    scores = support_scores(scene.foreground, levels, automatic_threshold(levels))
    measures = Measures(
        psnr=psnr(scene.background, background, PEAK),
        relative_error=relative_error(scene.background, background),
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        best_f1=best_f1(scene.foreground, levels),
        learning_speed=learning_speed,
        separating_speed=separating_speed,
    )
    return TakenApart(background, foreground, measures)


def _loss_of_truth(scene: SurveillanceScene, outlier_weight: float) -> Array:
    """Mean loss of each batch if the background were known: that of objects and noise alone."""
    from thresher.losses import Huber

    loss, pixels = Huber(outlier_weight), _rows(scene)
    truth = scene.background.reshape(pixels.shape)
    return np.array(
        [
            loss.value(pixels[rows].astype(np.float64), truth[rows].astype(np.float64)).mean()
            for rows in _batches(len(pixels), BATCH_SIZE)
        ]
    )


def _each_batch(
    n_frames: int, size: int, work: Callable[[slice], Any], tell: Callable[[int], None]
) -> float:
    """Work through the frames in order; the speed in frames per second, without the first batch."""
    seconds, timed = 0.0, 0
    tell(0)
    for rows in _batches(n_frames, size):
        started = time.perf_counter()
        work(rows)
        if rows.start > 0:
            seconds += time.perf_counter() - started
            timed += rows.stop - rows.start
        tell(rows.stop)
    return timed / seconds if seconds > 0 else float("nan")


def _batches(n_frames: int, size: int) -> Iterator[slice]:
    for start in range(0, n_frames, size):
        yield slice(start, min(start + size, n_frames))


def _rows(scene: SurveillanceScene) -> NDArray[np.uint8]:
    """One frame per row."""
    return scene.frames.reshape(len(scene.frames), -1)


def _silence(stage: str, done: int, total: int) -> None:
    pass
