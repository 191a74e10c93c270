"""A tune of three notes, plucked, with the noise of the plucking."""

from __future__ import annotations

import io
import wave

import numpy as np

RATE = 8000
NOTES = {"C4": 261.6, "D4": 293.7, "E4": 329.6}
TUNE = ("E4", "D4", "C4", "D4", "E4", "E4", "E4")
BEAT = 0.5  # seconds


def tune_file() -> bytes:
    """A WAV file of four seconds, one channel of 16 bits."""
    sound = np.rint(32767 * 0.9 * tune_samples()).astype("<i2")
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound.tobytes())
    return target.getvalue()


def tune_samples() -> np.ndarray:
    """The tune, between -1 and 1."""
    rng = np.random.default_rng(0)
    sound = np.zeros(round(RATE * BEAT * (len(TUNE) + 1)))
    for beat, note in enumerate(TUNE):
        start = round(RATE * BEAT * beat)
        time = np.arange(len(sound) - start) / RATE
        tones = [np.sin(2 * np.pi * k * NOTES[note] * time) / k**1.5 for k in range(1, 7)]
        # The string is stopped when the next note comes.
        ringing = np.exp(-2 * time) * (time < BEAT) + np.exp(-2 * time - 60 * (time - BEAT)) * (
            time >= BEAT
        )
        sound[start:] += np.sum(tones, axis=0) * ringing
        sound[start:] += 0.5 * rng.standard_normal(len(time)) * np.exp(-120 * time)
    return np.asarray(sound / np.abs(sound).max())
