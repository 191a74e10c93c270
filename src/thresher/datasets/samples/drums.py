"""Kick, snare and hi-hat of a drum machine that was never built."""

from __future__ import annotations

import numpy as np

RATE = 22050
_STEPS = 16  # of a bar


def drum_samples(seed: int = 0, bars: int = 3) -> np.ndarray:
    """The sound of each drum, (3, n): another machine and another rhythm for every seed.

    A kick is a tone that falls, a snare two tones and noise, a hi-hat high noise. Noise is new with
    every stroke, strokes are of uneven strength, and drums sound together.
    """
    rng = np.random.default_rng(seed)
    step = round(RATE * rng.uniform(0.11, 0.16))
    time = np.arange(round(0.6 * RATE)) / RATE
    low, high, fall = rng.uniform(40, 60), rng.uniform(80, 200), rng.uniform(15, 40)
    turns = low * time + high * (1 - np.exp(-fall * time)) / fall
    kick = np.sin(2 * np.pi * turns) * np.exp(-rng.uniform(6, 14) * time)
    tones = rng.uniform(160, 220) * np.array([1.0, rng.uniform(1.5, 2)])
    body = np.sin(2 * np.pi * tones[:, None] * time).sum(axis=0) * np.exp(
        -rng.uniform(15, 30) * time
    )
    rattle = rng.uniform(0.4, 1.2) * np.exp(-rng.uniform(10, 25) * time)
    tick = np.exp(-rng.uniform(25, 80) * time)
    chances = np.full((3, _STEPS), 0.08), (0, 4, 8, 12), (4, 12), range(0, _STEPS, 2)
    for row, beats in enumerate(chances[1:]):
        chances[0][row, list(beats)] = (0.8, 0.9, 0.95)[row]
    sounds = np.zeros((3, bars * _STEPS * step + len(time)))
    for place, drum in np.argwhere(rng.random((bars * _STEPS, 3)) < np.tile(chances[0], bars).T):
        noise = _treble(rng.standard_normal(len(time)), 1 if drum == 1 else 3)
        stroke = (kick, 0.5 * body + rattle * noise, 0.4 * tick * noise)[drum]
        sounds[drum, place * step :][: len(time)] += rng.uniform(0.6, 1) * stroke
    return np.asarray(sounds / np.abs(sounds.sum(axis=0)).max())


def _treble(noise: np.ndarray, times: int) -> np.ndarray:
    """Noise without its low frequencies, by differences of neighbours."""
    for _ in range(times):
        noise = np.diff(noise, prepend=0.0) / np.sqrt(2)
    return noise
