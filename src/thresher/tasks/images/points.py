r"""Which single pixels are damaged: those that more probably are than not.

Every pixel is told by its neighbours and the model (`repair.told`), and is off by :math:`e`. Where
there are edges all are off by more, so :math:`r = e / u`, with a unit :math:`u` of the picture plus
that of the 5 × 5 pixels around. The picture's values of :math:`r` are a mixture: of sound pixels,
Student's :math:`t` with three degrees of freedom (edges have heavy tails) and a scale
:math:`\sigma`, and of a share :math:`\pi` of damaged ones, as likely to have any value in the range
:math:`v` of the picture:

.. math:: p = \frac{\pi\,u / 2v}{\pi\,u / 2v + (1 - \pi)\,t_3(r / \sigma) / \sigma}.

:math:`\pi` and :math:`\sigma` are those of maximum likelihood, by expectation and maximisation. To
replace a sound pixel costs what to keep a damaged one does, :math:`e^2`; so pixels with
:math:`p > 1/2` are replaced. There is no threshold: a picture with much damage is searched more
closely than one with none. (A. Dempster, N. Laird and D. Rubin, JRSS B 39(1), 1977; K. Lange, R.
Little and J. Taylor, "Robust statistical modeling using the t distribution", JASA 84, 1989.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from thresher.linalg import Array
from thresher.tasks.images.repair import repaired, sound_values, told
from thresher.tasks.images.spots import any_colour, relative_to_light, scales, window

# By judgement, on the sets of docs/photographs.md.
_FIRST = 3.0  # standard deviations: what is off by more is left out at first
_ROUNDS = 3  # of telling pixels by those that are sound, as far as it is known
_STEPS = 15  # of expectation and maximisation
_AROUND = 5
_MOST = 3.0  # units of the picture: what a pixel adds to the unit of those around it
_DEGREES = 3.0
_DENSITY = 2 / (np.pi * np.sqrt(_DEGREES))  # of t₃ at zero


def points_in(pictures: Array, model: Array, elsewhere: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which pixels are damaged by themselves.

    Parameters
    ----------
    pictures, model : arrays of shape (n, height, width) or (n, height, width, 3)
    elsewhere : array of bool of shape (n, height, width)
        What is known to be damaged or missing; it tells nothing.
    """
    known = sound_values(elsewhere, pictures)
    seen = np.where(known, pictures, model)
    wrong = elsewhere | _off_at_first(seen, model, known)
    for _ in range(_ROUNDS):
        sound = sound_values(wrong, pictures)
        filled = repaired(seen, model, wrong, turns=1)
        off = np.where(known, np.abs(seen - told(filled, model, sound)), 0)
        chances = _chances(off, _units(off, sound), _ranges(seen, known), known)
        wrong = elsewhere | any_colour(chances > 0.5)
    return wrong & ~elsewhere


def _off_at_first(seen: Array, model: Array, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Far from the median of its neighbours, in the picture and in what the model leaves of it."""
    off = np.ones(seen.shape, dtype=bool)
    for values in (seen, seen - model):
        median = ndimage.median_filter(values, window(3, values.ndim), mode="nearest")
        detail = relative_to_light(values - median, model)
        off &= np.abs(detail) > _FIRST * scales(detail, known)
    return np.asarray(any_colour(off & known))


def _units(off: Array, sound: NDArray[np.bool_]) -> Array:
    """What pixels are usually off by: in the picture, plus around each."""
    whole = np.maximum(scales(off, sound), np.finfo(off.dtype).tiny)
    heard = np.where(sound, np.minimum(off, _MOST * whole), 0)
    size = window(_AROUND, off.ndim)
    count = ndimage.uniform_filter(sound.astype(off.dtype), size, mode="nearest")
    around = ndimage.uniform_filter(heard, size, mode="nearest")
    return np.asarray(whole + around / np.maximum(count, 1 / _AROUND**2))


def _ranges(seen: Array, known: NDArray[np.bool_]) -> Array:
    """From the darkest to the brightest value of each picture, as far as it is known."""
    axes = tuple(range(1, seen.ndim))
    high = np.where(known, seen, -np.inf).max(axis=axes, keepdims=True)
    low = np.where(known, seen, np.inf).min(axis=axes, keepdims=True)
    return np.asarray(np.where(high > low, high - low, np.inf))


def _chances(off: Array, unit: Array, span: Array, known: NDArray[np.bool_]) -> Array:
    """The chance that each value is damaged; zero of what is not known."""
    axes = tuple(range(1, off.ndim))
    squares = np.square(off / unit)
    if_damaged = unit / (2 * span)
    count = np.maximum(known.sum(axis=axes, keepdims=True), 1)
    share = np.full_like(span, 0.1)
    scale = np.maximum(scales(off / unit, known), np.finfo(off.dtype).tiny)
    chances = np.zeros_like(off)
    for _ in range(_STEPS):
        heard = 1 / (1 + squares / (_DEGREES * scale**2))
        if_sound = (_DENSITY / scale) * heard**2
        damaged = share * if_damaged
        chances = np.where(known, damaged / (damaged + (1 - share) * if_sound), 0)
        share = np.clip(chances.sum(axis=axes, keepdims=True) / count, 1e-4, 0.5)
        sound = np.where(known, 1 - chances, 0)
        weighted = (sound * heard * squares).sum(axis=axes, keepdims=True)
        total = np.maximum(sound.sum(axis=axes, keepdims=True), 1)
        scale = np.sqrt(weighted * ((_DEGREES + 1) / _DEGREES) / total)
        scale = np.maximum(scale, np.finfo(off.dtype).tiny ** 0.25)
    return chances
