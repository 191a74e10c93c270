"""The page about a video: some of its frames, what stays, what moves, and what was noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import __version__
from thresher.estimators.page import tell_learning
from thresher.plotting import for_page, frame_grid, share_curve
from thresher.plotting.boundaries import WHEAT
from thresher.report import Report, tell_beside, timed
from thresher.tasks.video.album import Moment, Picture
from thresher.tasks.video.light import lit
from thresher.tasks.video.results import Mask, boxes
from thresher.tasks.video.windows import largest_colour, median_of_flags

if TYPE_CHECKING:
    from thresher.tasks.video.separator import VideoSeparator

Masks = NDArray[np.bool_]

_SHOWN = 6  # moments in the picture
_MOST_CHANGES = 20  # of the scene in the table
_SMALLEST = 1e-3  # of a picture: less has no box on the page; by judgement
_SQUARE = 5  # of the median filter of masks, as in `scene.py`
_USUAL = 25  # levels of 255: from there on examples of temporal medians call a pixel moving


def video_report(separator: VideoSeparator) -> Report:
    """Show what was found in a video, and how.

    Parameters
    ----------
    separator : VideoSeparator
        That has seen frames.
    """
    separator._check_begun()
    scene, album = separator._scene, getattr(separator, "_album", None)
    moments = () if album is None else album.moments
    height, width = separator._shape[:2]
    n_frames = scene.n_frames - (0 if album is None else album.start)
    report = Report(
        f"What moves in {n_frames:,} frames",
        "Every frame was judged by those before it: what differs from the scene as it had been "
        "learned until then is moving. The rest, and how its light changes, is the background."
        if separator.causal
        else "All frames were looked at to learn the scene, and then again to judge them: what "
        "differs from the scene is moving. The rest, and how its light changes, is the background.",
        f"Thresher {__version__} · video",
    )
    shares = np.array(() if album is None else album.shares).reshape(-1, 2)
    report.facts(_facts(separator, n_frames, shares))
    if moments:
        simple = _simple_masks(moments)
        _tell_moments(report, moments, simple.masks)
        _tell_shares(report, shares, _changes(separator))
        _tell_beside(report, separator, moments, simple)
    else:
        report.heading("The background, as it was last")
        last = lit(
            scene.detail, scene.light.predicted(scene.light.first[np.newaxis])[0], scene.side
        )
        report.picture(
            for_page(lambda: frame_grid([_bytes(last[np.newaxis, :height, :width])], [""], [""])),
            "The scene without what moves",
            "Moments of the video are kept while it runs, and not in the file of a model.",
        )
    estimator = scene.light.estimator
    if hasattr(estimator, "history_"):
        tell_learning(report, estimator.history_, estimator.tol)
        cells = estimator.components_.shape[1] // scene.detail.shape[2]
        report.paragraph(
            f"What learns here is the light of the scene: {type(estimator).__name__}, from the "
            f"means of {cells:,} square cells in every second frame."
        )
    return report


def _facts(
    separator: VideoSeparator, n_frames: int, shares: NDArray[np.float64]
) -> list[tuple[str, str]]:
    height, width = separator._shape[:2]
    facts = [(f"{n_frames:,}", f"frames of {width} × {height} pixels")]
    if np.isfinite(separator.frames_per_second_):
        speed = f"{separator.frames_per_second_:,.0f}"
        facts.append((speed, "frames a second, reading and writing included"))
    if len(shares):
        facts.append((f"{shares[:, 1].mean():.1%}", "of a frame moves, on average"))
    changes = len(_changes(separator))
    facts.append((f"{changes:,}", "times the scene became another"))
    if separator.n_aligned_:
        facts.append((f"{separator.n_aligned_:,}", "frames shifted back: the camera had moved"))
    return facts


def _changes(separator: VideoSeparator) -> list[int]:
    """Frames of the last look at the video after which the scene was another."""
    album = getattr(separator, "_album", None)
    start = 0 if album is None else album.start
    return [one.frame - start for one in separator.changes_ if one.frame >= start]


def _tell_moments(report: Report, moments: tuple[Moment, ...], simple: Masks) -> None:
    places = np.linspace(0, len(moments) - 1, min(_SHOWN, len(moments))).round().astype(int)
    shown = [moments[place] for place in places]
    report.heading("Frames, and what became of them")
    columns = [
        [_boxed(one) for one in shown],
        [_in_colour(one.background) for one in shown],
        [_in_colour(255 * one.mask) for one in shown],
        [_in_colour(255 * simple[place]) for place in places],
    ]
    report.picture(
        for_page(
            lambda: frame_grid(
                [np.stack(column) for column in columns],
                ["frame", "background", "what moves", "by a median"],
                [f"{one.number:,}" for one in shown],
                separators=(3,),
            )
        ),
        f"{len(shown)} frames with boxes around what moves, the background of each, and masks: "
        + "; ".join(
            f"frame {one.number}: {len(_boxes(one.mask))} boxes, {one.mask.mean():.1%} moves"
            for one in shown
        ),
        "Moments at equal distances, with the numbers of the frames. Boxes are drawn around parts "
        f"that have at least {_SMALLEST:.1%} of the picture. On the right, what a simple method "
        "takes for moving, see below.",
    )


def _tell_shares(report: Report, shares: NDArray[np.float64], changes: list[int]) -> None:
    report.heading("How much moves, and when")
    report.picture(
        for_page(
            lambda: share_curve(
                shares[:, 0], shares[:, 1], "frame", "share of the picture that moves", changes
            )
        ),
        f"Share of the picture that moves, from frame to frame, at most {shares[:, 1].max():.1%}"
        + "".join(f"; another scene after frame {n}" for n in changes[-_MOST_CHANGES:]),
        "Upright lines: more than a third of the picture became another at once, and the scene was "
        "learned anew."
        if changes
        else "The scene stayed the same throughout: never did more than a third of it become "
        "another at once.",
    )
    if changes:
        some = "" if len(changes) <= _MOST_CHANGES else f"The last {_MOST_CHANGES} of them: "
        listed = ", ".join(f"{number:,}" for number in changes[-_MOST_CHANGES:])
        report.paragraph(f"The scene became another at frames {some}{listed}.")


# ------------------------------------------------------------------- a simple alternative


class _Simple(NamedTuple):
    """What a temporal median makes of the moments."""

    background: NDArray[np.float64]
    masks: Masks
    seconds: float


def _simple_masks(moments: tuple[Moment, ...]) -> _Simple:
    """The median of the moments as the background, and a threshold that many start with."""
    frames = np.stack([one.frame for one in moments])
    background, to_learn = timed(lambda: np.median(frames, axis=0))
    masks, to_judge = timed(lambda: [_simply_judged(frame, background) for frame in frames])
    return _Simple(background, np.stack(masks), to_learn + to_judge)


def _tell_beside(
    report: Report, separator: VideoSeparator, moments: tuple[Moment, ...], simple: _Simple
) -> None:
    frames = np.stack([one.frame for one in moments])
    ours, theirs = np.stack([one.mask for one in moments]), simple.masks
    still = ~(ours | theirs)
    colours = still if frames.ndim == 3 else np.broadcast_to(still[..., None], frames.shape)
    learned = np.stack([one.background for one in moments])

    def left(other: NDArray[np.float64] | Picture) -> str:
        levels = np.abs(frames - np.asarray(other, dtype=np.float64))[colours]
        return f"{levels.mean():.2f}" if levels.size else "–"

    pixels = frames[0].size / np.prod(separator._shape)
    speed = len(frames) / max(simple.seconds, 1e-9) * pixels
    agree = (ours & theirs).sum() / max((ours | theirs).sum(), 1)
    fast = separator.frames_per_second_
    tell_beside(
        report,
        ["moves", "levels off where nothing moves", "frames a second"],
        [
            ["VideoSeparator", f"{ours.mean():.1%}", left(learned),
             f"{fast:,.0f}" if np.isfinite(fast) else "–"],
            ["temporal median", f"{theirs.mean():.1%}", left(simple.background), f"{speed:,.0f}"],
        ],
        f"The median of {len(frames)} moments at equal distances, of the whole video at once, is "
        f"the background of all; what is {_USUAL} of 255 levels off moves, after the same "
        f"{_SQUARE} × {_SQUARE} median filter. It reads and writes nothing, and its speed is for "
        "frames of the same size. Both agree on "
        f"{agree:.0%} of what either calls moving. Which of them is right, the picture tells: "
        "where light changes, a fixed background is off everywhere; where something stands still "
        "for long, both take it for the scene.",
    )  # fmt: skip


def _simply_judged(frame: Picture, background: NDArray[np.float64]) -> Mask:
    off = np.abs(frame - background)
    sizes = off if off.ndim == 2 else largest_colour(off)
    return median_of_flags(sizes > _USUAL, _SQUARE)


# --------------------------------------------------------------------------------- pictures


def _boxes(mask: Mask) -> list[tuple[int, int, int, int]]:
    return [box[:4] for box in boxes(mask, max(1, int(_SMALLEST * mask.size)))]


def _boxed(moment: Moment) -> Picture:
    """A frame in colours with boxes drawn in, as thick as can be seen."""
    picture = _in_colour(moment.frame).copy()
    thick = max(1, max(picture.shape) // 160)
    for top, left, bottom, right in _boxes(moment.mask):
        for rows, columns in (
            (slice(top, top + thick), slice(left, right)),
            (slice(max(bottom - thick, 0), bottom), slice(left, right)),
            (slice(top, bottom), slice(left, left + thick)),
            (slice(top, bottom), slice(max(right - thick, 0), right)),
        ):
            picture[rows, columns] = WHEAT
    return picture


def _in_colour(picture: NDArray[np.generic]) -> Picture:
    grey = np.asarray(picture, dtype=np.uint8)
    return grey if grey.ndim == 3 else np.repeat(grey[..., np.newaxis], 3, axis=2)


def _bytes(levels: NDArray[np.generic]) -> Picture:
    found = np.asarray(np.rint(np.clip(levels, 0, 255)), dtype=np.uint8)
    return found[..., 0] if found.shape[-1] == 1 else found
