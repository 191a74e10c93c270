"""Real scenes with planted motion, for `video.py`: what moves is known to the pixel.

A scene is an empty one: the median of an I2R clip, or some of its frames that nobody walks through,
in random order. It is then shaken, swayed, covered by falling water or by a curtain, or lit
otherwise; objects with the texture of photographs cross it, in lanes and alone, some of them with a
shadow, which is background. None of this was measured on highway.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from common import find_data_file
from scipy.ndimage import gaussian_filter, map_coordinates

CLIPS = {
    "mall": "i2r_shoppingmall_128x160",
    "hall": "i2r_hall_144x176",
    "escalator": "i2r_escalator_130x160",
    "water": "i2r_watersurface_128x160",
    "bootstrap": "i2r_bootstrap_120x160",
    "lobby": "i2r_lobby_rgb_128x160",
}
HELD_BACK = ("bootstrap", "lobby")  # not looked at while constants were chosen
EMPTY = {"escalator": slice(120, 200), "water": slice(0, 10)}  # frames that nobody walks through
EFFECTS = ("still", "shake", "sway", "water", "curtain", "light")


class Planted(NamedTuple):
    """A video whose moving objects are known."""

    frames: Any
    truth: Any


def planted(clip: str, effect: str, seed: int = 0, n_frames: int = 400) -> Planted:
    """Objects that cross the scene of a clip, under one of `EFFECTS`."""
    rng = np.random.default_rng([seed, EFFECTS.index(effect), list(CLIPS).index(clip)])
    video = _empty_scene(rng, clip, n_frames)
    truth = np.zeros(video.shape, bool)
    if effect in ("sway", "water", "curtain"):
        _move_a_part(rng, video, effect)
    for place, cover, texture, shadow in _objects(rng, video.shape):
        t, rows, columns = place
        where, depth = shadow
        video[t][where] *= depth
        video[t, rows, columns] = np.where(cover, texture, video[t, rows, columns])
        truth[t, rows, columns] |= cover
    if effect == "light":
        video *= _lights(rng, n_frames)[:, None, None]
    if effect == "shake":
        truth = _shake(rng, video, truth)
    video += rng.normal(0, rng.uniform(1, 4), video.shape)
    return Planted(np.rint(np.clip(video, 0, 255)).astype(np.uint8), truth)


def _empty_scene(rng: np.random.Generator, clip: str, n_frames: int) -> Any:
    frames = np.load(find_data_file(f"{CLIPS[clip]}.npz"))["frames"].astype(np.float32)
    if frames.ndim == 4:
        frames = frames[:30].mean(axis=-1)  # the lights of the lobby are on
    if clip not in EMPTY:
        return np.repeat(np.median(frames, axis=0)[None], n_frames, axis=0)
    empty = frames[EMPTY[clip]]
    steps = rng.choice([-1, 0, 1, 2], n_frames)  # forth and back through the empty frames
    turns = np.abs((np.cumsum(steps) + len(empty)) % (2 * len(empty)) - len(empty))
    return empty[np.minimum(turns, len(empty) - 1)].copy()


def _move_a_part(rng: np.random.Generator, video: Any, effect: str) -> None:
    """Leaves that sway, water that falls, or a curtain that moves, in a part of the picture."""
    n, h, w = video.shape
    y, x = np.mgrid[:h, :w].astype(np.float32)
    blobs = gaussian_filter(rng.normal(size=(h, w)), 18)
    where = blobs > np.quantile(blobs, rng.uniform(0.45, 0.7))
    grain = gaussian_filter(rng.normal(size=(4 * h, w)), (1.2, 1.2))
    grain *= rng.uniform(15, 40) / grain.std()
    low = gaussian_filter(rng.normal(size=(2, h, w)), (0, 10, 10))
    low *= rng.uniform(1.0, 2.5) / low.std()
    period, phase = rng.uniform(8, 30), 2 * np.pi * gaussian_filter(rng.normal(size=(h, w)), 12)
    stripes = 35 * np.sin(x / rng.uniform(2, 5))
    gust = 1 + 0.5 * np.sin(2 * np.pi * np.arange(n) / rng.uniform(60, 150))
    for t in range(n):
        if effect == "water":
            top = (3 * h - int(t * 2.7)) % (3 * h)
            added = 0.7 * grain[top : top + h] + gaussian_filter(rng.normal(0, 20, (h, w)), 1)
        else:
            angle = np.sin(2 * np.pi * t / (period if effect == "sway" else 3 * period) + phase)
            size = gust[t] * angle * (1 if effect == "sway" else 2)
            moved = [y + size * low[0], x + size * (low[1] + (effect == "curtain"))]
            picture = grain[:h] if effect == "sway" else stripes
            added = map_coordinates(picture, moved, order=1, mode="reflect")
        video[t][where] = np.clip(video[t] + added, 0, 255)[where]


def _objects(rng: np.random.Generator, shape: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Where and when an object covers what, and by how much its shadow dims the picture."""
    n, h, _ = shape
    photographs = np.load(find_data_file("bsds500_30img.npz"))["images"].mean(axis=-1)
    lanes = [(rng.uniform(0.2, 0.9) * h, rng.uniform(1, 4)) for _ in range(2)]
    t = -60.0
    while t < n:
        in_lane = rng.random() < 0.6
        centre, speed = lanes[rng.integers(2)] if in_lane else (rng.uniform(0, h), 0.0)
        speed = speed or rng.uniform(0.4, 3)
        tall = int(rng.uniform(8, 34))
        wide = int(tall * rng.uniform(0.4, 2))
        picture = photographs[rng.integers(len(photographs))]
        a, b = rng.integers(picture.shape[0] - tall), rng.integers(picture.shape[1] - wide)
        texture = picture[a : a + tall, b : b + wide]
        texture = texture.mean() + rng.uniform(0.3, 1) * (texture - texture.mean())
        texture = np.clip(texture + rng.choice([-50, 0, 50]), 5, 250)
        v, u = np.meshgrid(np.linspace(-1, 1, tall), np.linspace(-1, 1, wide), indexing="ij")
        cover = np.hypot(u, v) < 1 if rng.random() < 0.6 else np.ones((tall, wide), bool)
        stops = rng.random() < 0.15
        yield from _crossing(rng, shape, (t, centre, speed, stops), cover, texture)
        t += rng.exponential(30)


def _crossing(
    rng: np.random.Generator, shape: Any, path: Any, cover: Any, texture: Any
) -> Iterator[tuple[Any, Any, Any, Any]]:
    n, h, w = shape
    start, centre, speed, stops = path
    tall, wide = cover.shape
    leftwards, climb = rng.random() < 0.5, rng.normal(0, 0.15) * speed
    halt, depth = rng.uniform(0.2, 0.8) * w, rng.uniform(0.55, 0.85)
    has_shadow, stayed = rng.random() < 0.4, 0
    for t in range(max(int(start), 0), n):
        along = speed * (t - stayed - start)
        if stops and along > halt and stayed < 50:
            stayed += 1
        left = round(w - along if leftwards else along - wide)
        top = round(centre + climb * (t - start) - tall / 2)
        if along > w + wide:
            return
        rows = slice(max(top, 0), min(top + tall, h))
        columns = slice(max(left, 0), min(left + wide, w))
        if rows.stop <= rows.start or columns.stop <= columns.start:
            continue
        seen = (
            slice(rows.start - top, rows.stop - top),
            slice(columns.start - left, columns.stop - left),
        )
        shadow = (
            slice(max(rows.stop - tall // 6, 0), rows.stop + tall // 6),
            slice(columns.start + 3, columns.stop + wide // 3),
        )
        yield (t, rows, columns), cover[seen], texture[seen], (shadow, depth if has_shadow else 1.0)


def _lights(rng: np.random.Generator, n_frames: int) -> Any:
    """Clouds that pass, and a lamp that is switched off and on."""
    t = np.arange(n_frames)
    level = 0.85 + 0.15 * np.sin(2 * np.pi * t / rng.uniform(100, 300) + rng.uniform(0, 6))
    level[rng.integers(n_frames // 3, n_frames // 2) :] *= rng.uniform(0.5, 0.75)
    level[rng.integers(2 * n_frames // 3, n_frames - 50) :] *= rng.uniform(1.3, 1.6)
    return level.astype(np.float32)


def _shake(rng: np.random.Generator, video: Any, truth: Any) -> Any:
    """Shift every frame by a part of a pixel or some, as a camera on a pole does."""
    n, h, w = video.shape
    y, x = np.mgrid[:h, :w].astype(np.float32)
    shift = np.zeros((n, 2))
    for t in range(1, n):
        shift[t] = 0.8 * shift[t - 1] + rng.normal(0, 1.0, 2)
    turn = 0.004 * gaussian_filter(rng.normal(size=n), 1)
    moved = np.empty_like(truth)
    for t in range(n):
        at = [y + shift[t, 0] + turn[t] * (x - w / 2), x + shift[t, 1] - turn[t] * (y - h / 2)]
        video[t] = map_coordinates(video[t], at, order=1, mode="nearest")
        moved[t] = map_coordinates(truth[t].astype(np.float32), at, order=1) > 0.5
    return moved
