"""A small synthetic surveillance video: a street from afternoon to dusk, with ground truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Image = NDArray[np.float64]

# By judgement: shapes are drawn this much finer, then averaged, for smooth edges.
_SUPERSAMPLING = 4
_BRIGHTEST_BACKGROUND = 245.0  # below 255, so that no clipping spoils the factorisation


@dataclass(frozen=True, eq=False)
class SurveillanceScene:
    """A video with its true background, moving objects and corrupted pixels.

    Attributes
    ----------
    frames : ndarray of uint8, shape (n_frames, height, width)
        The video: objects in front of the background, then salt-and-pepper noise, rounded.
    background : ndarray of float32, shape (n_frames, height, width)
        The empty scene under the light of each frame, before rounding, between 0 and 255.
    foreground : ndarray of bool, shape (n_frames, height, width)
        True where a moving object hides the background.
    noise_mask : ndarray of bool, shape (n_frames, height, width)
        True where the pixel was replaced by 0 or 255.
    """

    frames: NDArray[np.uint8]
    background: NDArray[np.float32]
    foreground: NDArray[np.bool_]
    noise_mask: NDArray[np.bool_]


def make_surveillance_scene(
    n_frames: int = 600,
    height: int = 72,
    width: int = 96,
    *,
    salt_and_pepper: float = 0.02,
    random_state: int | np.random.Generator | None = None,
) -> SurveillanceScene:
    r"""Draw a street with cars and pedestrians, seen by a still camera from afternoon to dusk.

    With a row per frame, the background is an exact nonnegative factorisation of rank 5,

    .. math:: B = A L, \qquad A \ge 0,\; L \ge 0,

    where the rows of :math:`L` are the scene under one light each, and :math:`A` says how bright
    each light is in each frame: the sky, which fades; the sun on the left and on the right half,
    which sets and is hidden twice by a cloud that passes from left to right; a street lamp and
    the windows, which are switched on. Objects are lit by the same lights and hide what is
    behind them; they keep moving, and enter and leave the picture.

    Parameters
    ----------
    n_frames, height, width : int
        Size of the video; at least 36 by 48 pixels.
    salt_and_pepper : float
        Probability that a pixel of a frame is replaced by 0 or 255.
    random_state : int, Generator or None
        Seed. A generator is advanced, so that two calls with it give different scenes.

    Returns
    -------
    SurveillanceScene
        ``frames``, ``background``, ``foreground`` and ``noise_mask``.

    Examples
    --------
    >>> scene = make_surveillance_scene(100, random_state=0)
    >>> scene.frames.reshape(100, -1).shape
    (100, 6912)
    """
    if n_frames < 1:
        raise ValueError(f"n_frames must be at least 1, not {n_frames}.")
    if height < 36 or width < 48:
        raise ValueError(f"Ask for at least 36 x 48 pixels, not {height} x {width}.")
    if not 0 <= salt_and_pepper <= 1:
        raise ValueError(f"salt_and_pepper must be between 0 and 1, not {salt_and_pepper}.")
    rng = np.random.default_rng(random_state)

    irradiance, layers = _draw_street(rng, height, width)
    lights = _draw_lights(rng, n_frames)
    background = np.tensordot(lights, layers, axes=1).astype(np.float32)
    exposure = _BRIGHTEST_BACKGROUND / float(background.max())
    lights *= exposure
    background *= exposure

    picture = background.copy()
    foreground = np.zeros(picture.shape, dtype=bool)
    far_to_near = sorted(_draw_traffic(rng, n_frames, height, width), key=lambda m: m.bottom)
    for mover in far_to_near:
        for time, place, sprite in _appearances(mover, picture.shape):
            visible = ~np.isnan(sprite)
            light = np.tensordot(lights[time], irradiance[:, *place], axes=1)
            picture[time, *place][visible] = np.minimum(sprite * light, 255)[visible]
            foreground[time, *place] |= visible

    draw = rng.random(picture.shape, dtype=np.float32)
    noise_mask = draw < salt_and_pepper
    picture[noise_mask] = np.where(draw[noise_mask] < salt_and_pepper / 2, 0, 255)
    return SurveillanceScene(np.rint(picture).astype(np.uint8), background, foreground, noise_mask)


def _draw_lights(rng: np.random.Generator, n_frames: int) -> _Image:
    """Brightness (n_frames, 5) of sky, sun on the left, sun on the right, lamp and windows."""
    time = np.linspace(0, 1, n_frames)
    sky = 1 - 0.55 * time**1.5
    sun = np.cos(np.pi / 2 * np.minimum(time / 0.75, 1)) ** 0.7
    clouds = rng.uniform([0.1, 0.35], [0.2, 0.45])

    def sunshine(delay: float) -> _Image:
        distance = (time[:, np.newaxis] - clouds - delay) / 0.045
        return np.asarray(sun * (1 - 0.75 * np.exp(-(distance**4)).sum(axis=1)))

    lamp_on, windows_on = rng.uniform([0.55, 0.45], [0.65, 0.55])
    # A sodium lamp takes a while to reach its full brightness.
    lamp = (time > lamp_on) * (1 - 0.8 * np.exp(-(time - lamp_on).clip(0) / 0.03))
    windows = (time > windows_on) & (time < windows_on + 0.4)
    return np.column_stack([sky, sunshine(0.0), sunshine(0.05), lamp, windows])


def _draw_street(rng: np.random.Generator, height: int, width: int) -> tuple[_Image, _Image]:
    """Paint the still scene from back to front.

    Returns the light that falls on the surfaces, and what the camera sees of it, under each of
    the lights; both have shape (n_lights, height, width).
    """
    y, x = _fine_grid(height, width)
    albedo, sky_glow, window_glow = np.zeros((3, *x.shape))
    sunlit = np.ones(x.shape)
    grain = rng.normal(1, 0.12, x.shape)
    leaves = ((0.6 + 0.35 * _waves(rng, x, y, 30)) * grain).clip(0.15)

    def box(left: float, right: float, top: float, bottom: float) -> NDArray[np.bool_]:
        return (left <= x) & (x < right) & (top <= y) & (y < bottom)

    def disc(centre_x: float, centre_y: float, radius: float, flat: float = 1) -> NDArray[np.bool_]:
        return (x - centre_x) ** 2 + ((y - centre_y) * 0.75 / flat) ** 2 < radius**2

    def cover(region: NDArray[np.bool_], reflects: _Image | float, sun: float = 1.0) -> None:
        """Put a surface in front of everything painted so far."""
        albedo[region] = np.broadcast_to(reflects, x.shape)[region]
        sky_glow[region] = window_glow[region] = 0
        sunlit[region] = sun

    sky_glow[:] = 0.75 + 0.5 * y + 0.1 * _waves(rng, x, 3 * y, 3).clip(0, 2)
    for left in np.arange(0, 1, 0.07):  # the skyline, pale in the haze
        sky_glow[box(left, left + 0.07, rng.uniform(0.3, 0.4), 0.5)] = rng.uniform(0.6, 0.75)
    cover(y >= 0.48, 0.36 * leaves)  # hedges

    # Two buildings, each with a shaded side wall, a ledge and rows of windows.
    for left, right, top, wall, floors, columns in (
        (0.05, 0.37, 0.07, 0.62, 5, 5),
        (0.70, 0.94, 0.24, 0.46, 3, 4),
    ):
        cover(box(left, right, top, 0.6), wall * (0.75 + 0.25 * grain))
        cover(box(right, right + 0.045, top + 0.02, 0.6), 0.7 * wall, sun=0.1)
        cover(box(left - 0.01, right + 0.01, top - 0.015, top + 0.015), 1.15 * wall)
        step_x, step_y = (right - left) / columns, (0.5 - top) / floors
        for floor, column in np.ndindex(floors, columns):
            pane_x, pane_y = left + (column + 0.25) * step_x, top + (floor + 0.35) * step_y
            pane = box(pane_x, pane_x + 0.5 * step_x, pane_y, pane_y + 0.6 * step_y)
            cover(pane, rng.uniform(0.1, 0.2), sun=0.5)
            window_glow[pane] = rng.uniform(0.55, 0.8) * (rng.random() < 0.45)
    cover(box(0.19, 0.235, 0.51, 0.6), 0.15)  # the door

    cover(y >= 0.60, 0.52 + 0.1 * (grain - 1))  # pavements
    road = 0.25 + 0.012 * _waves(rng, x / 4, y, 12) + 0.1 * (grain - 1)
    cover((y >= 0.655) & (y < 0.94), 0.68)  # kerbs
    cover((y >= 0.67) & (y < 0.925), road)
    cover((y >= 0.79) & (y < 0.806) & (x * 7 % 1 < 0.55), 0.75)  # lane marking

    for centre, size in ((0.585, 0.075), (0.97, 0.06), (0.025, 0.05)):  # trees and their shadows
        sunlit[disc(centre + 0.08, 0.635, 1.2 * size, flat=0.25) & (y >= 0.60)] = 0.2
        cover(box(centre - 0.008, centre + 0.008, 0.4, 0.615), 0.15 * grain)
        for offset_x, offset_y in rng.uniform(-0.6, 0.6, (9, 2)) * size:
            cover(disc(centre + offset_x, 0.38 + 1.5 * offset_y, 0.55 * size), 0.36 * leaves)
    cover(box(0.476, 0.484, 0.17, 0.645) | box(0.44, 0.484, 0.165, 0.18), 0.12)  # lamp post

    beam = 0.9 * np.exp(-(((x - 0.44) / 0.17) ** 2) - ((y - 0.7) / 0.17) ** 2)
    halo = 0.15 * np.exp(-np.hypot(x - 0.44, 0.75 * (y - 0.19)) / 0.025)
    lamp_glow = halo + 0.5 * disc(0.44, 0.19, 0.014, flat=0.6)
    left_half = 1 / (1 + np.exp((x - 0.5) / 0.03))
    sun, dark = 0.75 * sunlit, np.zeros(x.shape)
    irradiance = np.array([dark + 0.75, sun * left_half, sun * (1 - left_half), beam, dark])
    emission = np.array([sky_glow, dark, dark, lamp_glow, window_glow])
    return _shrink(irradiance), _shrink(albedo * irradiance + emission)


class _Mover(NamedTuple):
    """An object that crosses the picture at constant speed."""

    sprites: tuple[_Image, ...]  # its reflectance, NaN outside; shown in turn, as steps of a walk
    bottom: int  # row of its feet or wheels: the lower, the nearer
    entry: float  # time at which it begins to enter
    speed: float  # pixels per frame, positive to the right


def _draw_traffic(
    rng: np.random.Generator, n_frames: int, height: int, width: int
) -> Iterator[_Mover]:
    """Two lanes of cars and three lines of pedestrians; within a line, nobody overtakes."""
    for bottom, size, direction, is_road, crossing_times, pause in (
        (0.655, 0.17, 1, False, (110, 170), 40),
        (0.640, 0.16, -1, False, (110, 170), 60),
        (0.770, 0.135, -1, True, (35, 60), 25),
        (0.905, 0.165, 1, True, (28, 50), 25),
        (0.990, 0.26, -1, False, (90, 140), 90),
    ):
        entry, previous_crossing = -rng.uniform(0, crossing_times[0]), 0.0
        while entry < n_frames:
            tall = height * size * rng.uniform(0.9, 1.15)
            sprites = _car(rng, tall) if is_road else _pedestrian(rng, tall)
            crossing = rng.uniform(*crossing_times)
            entry += max(0.0, previous_crossing - crossing)  # a faster one waits
            speed = direction * (width + sprites[0].shape[1]) / crossing
            yield _Mover(
                tuple(sprite[:, ::direction] for sprite in sprites),
                round(bottom * height),
                entry,
                speed,
            )
            entry += 0.4 * crossing + rng.exponential(pause)
            previous_crossing = crossing


def _appearances(
    mover: _Mover, shape: tuple[int, ...]
) -> Iterator[tuple[int, tuple[slice, slice], _Image]]:
    """Every frame in which an object is visible, where, and the visible part of its picture."""
    n_frames, _, width = shape
    columns = mover.sprites[0].shape[1]
    end = mover.entry + (width + columns) / abs(mover.speed)
    for time in range(max(0, int(np.ceil(mover.entry))), min(n_frames, int(np.ceil(end)))):
        travelled = round(abs(mover.speed) * (time - mover.entry))
        left = travelled - columns if mover.speed > 0 else width - travelled
        start, stop = max(0, left), min(width, left + columns)
        sprite = mover.sprites[time % len(mover.sprites)]
        place = (slice(mover.bottom - sprite.shape[0], mover.bottom), slice(start, stop))
        yield time, place, sprite[:, start - left : stop - left]


def _car(rng: np.random.Generator, tall: float) -> tuple[_Image, ...]:
    """Draw a car, or one time in four a van, heading right."""
    is_van = rng.random() < 0.25
    rows, columns = round(tall * (1.25 if is_van else 1)), round(2.3 * tall)
    v, u = _fine_grid(rows, columns)
    paint = rng.choice([0.04, 0.6, 0.75, 0.95])
    front, back = (0.75, 0.03) if is_van else (0.62, 0.2)
    lean = 0.28 * (0.5 - v)  # windscreen and rear window are slanted
    cabin = (v > 0.04) & (v < 0.5) & (u < front + 0.1 - lean) & (u > back + (not is_van) * lean)
    body = (v >= 0.45) & (v < 0.85) & (u > 0.01) & (u < 0.99)
    glass = cabin & (v > 0.14) & (v < 0.42) & (u > (0.55 if is_van else 0.3)) & (u < front - lean)
    hub = np.abs(u - 0.5) - 0.3
    wheels = (hub * columns) ** 2 + ((v - 0.83) * rows) ** 2 < (0.17 * rows) ** 2
    headlight = body & (u > 0.93) & (v > 0.5) & (v < 0.64)
    albedo = np.where(v > 0.72, 0.8 * paint, paint)
    albedo[glass] = 0.08 if paint > 0.1 else 0.5
    albedo[wheels] = 0.02
    albedo[headlight] = 3.0  # shines
    return (_cut_out(albedo, cabin | body | wheels),)


def _pedestrian(rng: np.random.Generator, tall: float) -> tuple[_Image, ...]:
    """Draw someone walking: legs apart, legs together."""
    rows, columns = round(tall), round(0.42 * tall)
    v, u = _fine_grid(rows, columns)
    coat, trousers = rng.choice([0.03, 0.1, 0.9, 1.0]), rng.choice([0.04, 0.1])
    head = ((u - 0.5) * columns) ** 2 + ((v - 0.09) * rows) ** 2 < (0.095 * rows) ** 2
    torso = (v > 0.17) & (v < 0.58) & (np.abs(u - 0.5) < 0.3)
    albedo = np.where(head, 0.8 if coat < 0.5 else 0.12, np.where(torso, coat, trousers))
    steps: list[_Image] = []
    for stride in (0.34, 0.2, 0.06, 0.2):
        legs = (v >= 0.55) & (np.abs(np.abs(u - 0.5) - stride * (2 * v - 1)) < 0.15)
        steps += [_cut_out(albedo, head | torso | legs)] * 3
    return tuple(steps)


def _cut_out(albedo: _Image, region: NDArray[np.bool_]) -> _Image:
    """Shrink a drawing. A pixel is wholly the object's if half of it is, otherwise it is NaN."""
    share = _shrink(region.astype(np.float64))
    return np.where(share >= 0.5, _shrink(albedo * region) / np.maximum(share, 0.5), np.nan)


def _fine_grid(rows: int, columns: int) -> tuple[_Image, _Image]:
    """Coordinates y (down) and x, from 0 to 1, of the supersampled pixels."""
    y = (np.arange(rows * _SUPERSAMPLING) + 0.5) / (rows * _SUPERSAMPLING)
    x = (np.arange(columns * _SUPERSAMPLING) + 0.5) / (columns * _SUPERSAMPLING)
    grid_y, grid_x = np.meshgrid(y, x, indexing="ij")
    return grid_y, grid_x


def _shrink(fine: _Image) -> _Image:
    """Average the supersampled pixels (the last two axes) of each pixel."""
    *lead, rows, columns = fine.shape
    s = _SUPERSAMPLING
    return np.asarray(fine.reshape(*lead, rows // s, s, columns // s, s).mean(axis=(-3, -1)))


def _waves(rng: np.random.Generator, x: _Image, y: _Image, frequency: float) -> _Image:
    """Smooth random texture of mean 0 and standard deviation 1, a sum of plane waves."""
    total = np.zeros(x.shape)
    for slope_x, slope_y in rng.normal(0, 2 * np.pi * frequency, (12, 2)):
        total += np.cos(slope_x * x + slope_y * y + rng.uniform(0, 2 * np.pi))
    return np.asarray(total / np.sqrt(6))
