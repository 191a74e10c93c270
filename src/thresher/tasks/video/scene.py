"""A scene that is watched: frame after frame is judged by what came before, then learned from.

The background of a frame is the light of its cells times the detail of each pixel, a picture that
says how much brighter than its cell a pixel is: the median of some frames that are kept, each
divided by its own light. What was seen in three of them is background as well (`memory.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.video.alignment import NO_SHIFT, Aligner, Shift, shifted
from thresher.tasks.video.decision import moving_pixels
from thresher.tasks.video.light import ENOUGH, LEARNS_EVERY, Light, cell_means, cell_side, lit
from thresher.tasks.video.memory import OFTEN_ENOUGH, remembered_sizes
from thresher.tasks.video.noise import LEAST, PixelNoise, usual_size
from thresher.tasks.video.results import Mask, VideoSeparation
from thresher.tasks.video.shadows import shadows
from thresher.tasks.video.windows import largest_colour, median_of_pictures

# By judgement: if so much of the picture moves that did not a frame ago, or most of it, and then
# more than so much in so many frames on end, it is another scene.
_AT_ONCE, _MOST = 0.2, 0.5
_ANOTHER_SCENE = 1 / 3
_FRAMES_TO_BE_SURE = 3
_KEPT = 13  # frames whose median is the detail; by judgement
_LOOKS_EVERY = 4  # frames: how often a camera that is still is asked whether it has moved
_ENOUGH_FOR_NOISE = 8  # of them, the first of a scene, tell the noise of a pixel
_REMEMBERED = 1000  # changes of the scene, the latest


class Rules(NamedTuple):
    """What a user can set."""

    estimator: Any
    threshold: float
    patience: int
    align: bool
    shadows: bool
    causal: bool

    @property
    def apart(self) -> int:
        """Frames between those that are kept: what stayed in enough of them is background."""
        return max(1, self.patience // OFTEN_ENOUGH)


class SeparatedFrame(NamedTuple):
    """A frame taken apart, in the internal unit."""

    background: Array
    mask: Mask


@dataclass(frozen=True)
class Scene:
    """All that is known of a scene, of constant size; a step gives a new one."""

    unit: float
    """A level: 255 of them make the brightest pixel of the first frame."""
    side: int
    """Pixels along the side of a cell."""
    light: Light
    detail: Array
    """(height, width, colours), sides filled up to whole cells."""
    noise: PixelNoise
    reference: Array
    """The background that frames are aligned to."""
    moving: Mask
    """What moved in the last frame."""
    memory: Array
    """Frames that were kept, each divided by its light, when the detail was taken from them."""
    kept: tuple[Array, ...] = ()
    """Frames of the scene, aligned: the first ones close together, later ones further apart."""
    last_kept: int = 0
    """The age at which the last of them was."""
    n_frames: int = 0
    began: int = 0
    """The frame at which this scene began."""
    n_strange: int = 0
    """Frames on end in which much of the picture moves, since it began to at once."""
    n_aligned: int = 0
    last_aligned: int = 0
    """The last frame that was."""
    changes: tuple[int, ...] = ()

    @property
    def age(self) -> int:
        """Frames since this scene began."""
        return self.n_frames - self.began


def begun(frame: Array) -> Scene:
    """A scene that begins with a frame."""
    brightest = float(frame.max())
    unit = brightest / 255 if brightest > 0 else 1.0
    side = cell_side(*frame.shape[:2])
    return _begun_with(_in_levels(frame, unit, side), unit, side)


def _begun_with(picture: Array, unit: float, side: int) -> Scene:
    cells = cell_means(picture, side)
    detail = lit(picture, 1 / np.maximum(cells, np.float32(LEAST)), side)
    flat = np.zeros(picture.shape[:2], dtype=np.float32)
    noise, nothing = PixelNoise(flat, 0.0), picture[np.newaxis][:0]
    return Scene(unit, side, Light(cells), detail, noise, picture, flat > 0, nothing)


def watched(scene: Scene, frames: Array, rules: Rules) -> tuple[Scene, list[SeparatedFrame]]:
    """Judge some frames in their order, each by what came before it, and learn from them."""
    judged: list[SeparatedFrame] = []
    start = 0
    while start < len(frames):
        # The model learns at the same frames, however they come.
        some = frames[start : start + LEARNS_EVERY - scene.n_frames % LEARNS_EVERY]
        scene, found = _watched_until_it_learns(scene, some, rules)
        judged += found
        start += len(found)
    return scene, judged


def _watched_until_it_learns(
    scene: Scene, frames: Array, rules: Rules
) -> tuple[Scene, list[SeparatedFrame]]:
    """Judge frames until the light is learned, or another scene begins."""
    pictures = [_in_levels(frame, scene.unit, scene.side) for frame in frames]
    shifts = _shifts(scene, pictures) if rules.align else [NO_SHIFT] * len(pictures)
    pictures = [shifted(picture, by) for picture, by in zip(pictures, shifts, strict=True)]
    cells = np.stack([cell_means(picture, scene.side) for picture in pictures])
    light = np.maximum(scene.light.predicted(cells), np.float32(LEAST))
    judged: list[SeparatedFrame] = []
    background = scene.reference
    for picture, mine, its_light, shift in zip(pictures, cells, light, shifts, strict=True):
        background = lit(scene.detail, its_light, scene.side)
        scene, mask = _step(scene, picture, background, its_light, rules)
        scene = replace(
            scene,
            light=scene.light.with_cells(mine, scene.n_frames),
            n_frames=scene.n_frames + 1,
            n_aligned=scene.n_aligned + (shift != NO_SHIFT),
            last_aligned=scene.n_frames if shift != NO_SHIFT else scene.last_aligned,
        )
        if not rules.shadows:
            mask = mask & ~shadows(picture, background, scene.noise.usual(), mask)
        judged.append(_seen(background, mask, shift, frames.shape[1:3]))
        if _is_to_be_kept(scene, rules):
            scene = _with_kept(scene, picture)
            if scene.age < LEARNS_EVERY:
                scene = _with_medians(scene)
        if scene.n_strange == _FRAMES_TO_BE_SURE:
            return _another(scene, picture), judged
    if scene.n_frames % LEARNS_EVERY == 0:
        scene = replace(scene, reference=background)
        if len(scene.light.waiting) >= ENOUGH:
            scene = replace(scene, light=scene.light.learned(rules.estimator))
        scene = _with_medians(scene)  # in the light that was just learned
    return scene, judged


def _shifts(scene: Scene, pictures: list[Array]) -> list[Shift]:
    """By how much the camera has moved; of a still camera some frames are looked at."""
    aligner = Aligner(scene.reference)
    shifts: list[Shift] = []
    last = scene.last_aligned
    for number, picture in enumerate(pictures, scene.n_frames):
        awake = number - last < LEARNS_EVERY or number % _LOOKS_EVERY == 0
        shifts.append(aligner.shift_of(picture) if awake else NO_SHIFT)
        last = number if shifts[-1] != NO_SHIFT else last
    return shifts


def _step(
    scene: Scene, picture: Array, background: Array, light: Array, rules: Rules
) -> tuple[Scene, Mask]:
    """Judge one frame, then let the noise follow it."""
    sizes = largest_colour(np.abs(picture - background))
    noise = scene.noise.with_frame(sizes)
    grid = light.reshape(len(picture) // scene.side, -1, picture.shape[2])
    # Looked at again, a frame may be one of the first that are kept, which are close together.
    if rules.causal or scene.age > _KEPT * rules.apart:
        sizes = remembered_sizes(sizes, noise.scale, picture, grid, scene.memory)
    moving = moving_pixels(sizes / (np.float32(rules.threshold) * noise.usual()), scene.moving)
    share = float(moving.mean())
    at_once = scene.age > _ENOUGH_FOR_NOISE and share - float(scene.moving.mean()) > _AT_ONCE
    begins = at_once or (scene.age > LEARNS_EVERY and share > _MOST)
    strange = share > _ANOTHER_SCENE and (begins or scene.n_strange > 0)
    after = replace(
        scene,
        noise=noise.learned(sizes, moving),
        moving=moving,
        n_strange=scene.n_strange + 1 if strange else 0,
    )
    return after, moving


def _is_to_be_kept(scene: Scene, rules: Rules) -> bool:
    """Whether the last frame is one of those to keep: more and more apart, up to a distance."""
    return scene.age - scene.last_kept >= min(rules.apart, max(1, scene.last_kept // 3))


def _with_kept(scene: Scene, picture: Array) -> Scene:
    return replace(scene, kept=(*scene.kept, picture)[-_KEPT:], last_kept=scene.age)


def _with_medians(scene: Scene) -> Scene:
    """Take the detail anew from the frames that are kept; of the first of them also the noise."""
    kept = scene.kept
    cells = np.stack([cell_means(one, scene.side) for one in kept])
    light = np.maximum(scene.light.predicted(cells), np.float32(LEAST))
    dimmed = [lit(one, 1 / by, scene.side) for one, by in zip(kept, light, strict=True)]
    detail = median_of_pictures(dimmed)
    noise = scene.noise
    if len(kept) == _ENOUGH_FOR_NOISE:
        left = [a - lit(detail, by, scene.side) for a, by in zip(kept, light, strict=True)]
        noise = replace(
            noise, scale=usual_size(np.stack([largest_colour(np.abs(r)) for r in left]))
        )
    return replace(scene, detail=detail, noise=noise, memory=np.stack(dimmed))


def _another(scene: Scene, picture: Array) -> Scene:
    """Begin anew with a frame, but for what has been counted."""
    fresh = _begun_with(picture, scene.unit, scene.side)
    return replace(
        fresh,
        noise=PixelNoise(fresh.noise.scale, LEAST, 1),  # the frame is its own background
        kept=(picture,),
        last_kept=1,
        n_frames=scene.n_frames,
        began=scene.n_frames - 1,
        n_aligned=scene.n_aligned,
        last_aligned=scene.last_aligned,
        changes=(*scene.changes, scene.n_frames - 1)[-_REMEMBERED:],
    )


def _in_levels(frame: Array, unit: float, side: int) -> Array:
    """A frame in levels, with an axis of colours, its sides filled up to whole cells."""
    height, width = frame.shape[:2]
    picture = np.asarray(frame, dtype=np.float32) * np.float32(1 / unit)
    picture = picture.reshape(height, width, -1)
    below, right = -height % side, -width % side
    return np.pad(picture, ((0, below), (0, right), (0, 0)), "edge") if below + right else picture


def _seen(background: Array, mask: Mask, shift: Shift, size: tuple[int, int]) -> SeparatedFrame:
    """Background and mask where the frame has them, which the camera may have moved."""
    if shift != NO_SHIFT:
        back = (-shift[0], -shift[1])
        background = shifted(background, back)
        mask = shifted(mask.astype(np.float32), back) > 0.5
    height, width = size
    return SeparatedFrame(background[:height, :width], mask[:height, :width])


def room_for(frames: Array) -> VideoSeparation:
    """Arrays for what will be found of frames."""
    background, foreground = (np.empty(frames.shape, frames.dtype) for _ in range(2))
    return VideoSeparation(background, foreground, np.empty(frames.shape[:3], np.bool_))


def separation(
    frames: Array, judged: list[SeparatedFrame], unit: float, into: VideoSeparation | None = None
) -> VideoSeparation:
    """What was found of frames, in their own unit, shape and kind; in ``into``, if there is room.

    At full size, arrays that are made anew and joined later cost as much as the judging.
    """
    found = room_for(frames) if into is None else into
    whole = frames.dtype.kind != "f"
    most = np.iinfo(str(frames.dtype)).max if whole else 0
    for one, empty, mask in zip(judged, found.background, found.mask, strict=True):
        picture = one.background * np.float32(unit)
        if whole:  # adding a half and cutting off is rounding
            picture = np.clip(picture + np.float32(0.5), 0, most, out=picture)
        empty[...] = picture.reshape(empty.shape)
        mask[...] = one.mask
    moving = found.mask if frames.ndim == 3 else found.mask[..., np.newaxis]
    np.multiply(frames, moving, out=found.foreground)
    return found
