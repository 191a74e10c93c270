"""Whole numbers as binary decisions whose chances adapt: what the sensor codec codes with.

A number q is spelled "is it zero?", its sign, then "more than 1?", "more than 2?", …; from
`ESCAPE` on the rest follows as an Exp-Golomb code. The Laplace law that the caller expects, of
scale b and centre x in units of the step, tells the chance of each decision; chances of nearly the
same logit share a context, in which the true chance is counted. So the shape of the law is learned,
and only its scale has to be told.

Chances are integers, in units of 2⁻¹⁶, and sums are done as written: the two sides of a codec, on
whatever machine, stay alike to the bit.
"""

from typing import Any

import numpy as np

from thresher.kernels.compiling import strict_helper, strict_kernel
from thresher.kernels.floors import TINY

# All of these are part of the format; by judgement.
ESCAPE = 17
"""Numbers of this size or more are spelled by a code for any number."""

N_CONTEXTS = 165
"""33 logits for each of five decisions: zero, sign, and more than 1, 2, or any more."""

CHANCE_LEVELS = 4096
"""A chance is told to the entropy coder in units of 1/4096, never 0 or 1."""

_SCALES = 2.0 ** (np.arange(-24, 29) / 4)  # of the Laplace law, in quarters of an octave
_SLOWEST = 200  # decisions that the count of a context remembers


def _logit_levels(p: Any) -> Any:
    """The nearest of 33 logits, from −8 to 8."""
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return np.clip(np.round(2 * np.log(p / (1 - p))) + 16, 0, 32).astype(np.int64)


def _laplace_levels() -> tuple[Any, Any, Any]:
    """Logits of zero and of a minus, by scale and centre, and of going on, by scale."""
    b, x = _SCALES[:, None], np.arange(-8, 9)[None, :] / 16
    above, below = 0.5 * np.exp((x - 0.5) / b), 0.5 * np.exp((-0.5 - x) / b)
    zero, minus = 1 - above - below, below / np.maximum(above + below, TINY)
    return _logit_levels(zero), _logit_levels(minus), _logit_levels(np.exp(-1 / _SCALES))


_BOUNDS = np.round(_SCALES * 2**0.125, 6)
_ZERO, _MINUS, _MORE = _laplace_levels()
_BITS = np.zeros(CHANCE_LEVELS + 1)
_BITS[1:-1] = -np.log2(np.arange(1, CHANCE_LEVELS) / CHANCE_LEVELS)


def first_chances() -> Any:
    """Chances that say what the law says, and how often each was met, as two rows."""
    p = 1 / (1 + np.exp(-(np.arange(33) - 16) / 2))
    return np.stack([np.tile(np.round(p * 65535), 5), np.full(N_CONTEXTS, 4)]).astype(np.int64)


@strict_helper
def told(chances, context):  # type: ignore[no-untyped-def]
    """The chance of a one, in units of 1/4096."""
    return min(max(chances[0, context] >> 4, 1), CHANCE_LEVELS - 1)


@strict_helper
def adapt(chances, context, bit):  # type: ignore[no-untyped-def]
    """Count a decision; what was met often moves slowly."""
    goal = 65535 if bit else 0
    chances[0, context] += (goal - chances[0, context]) // (chances[1, context] + 2)
    if chances[1, context] < _SLOWEST:
        chances[1, context] += 1


@strict_helper
def n_below(bounds, value):  # type: ignore[no-untyped-def]
    """How many of the rising bounds are below a value: a plain search compiles in no time."""
    low, high = 0, bounds.size
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@strict_helper
def contexts(scale, centre):  # type: ignore[no-untyped-def]
    """Contexts of the three kinds of decision for a Laplace law, in units of the step."""
    s = min(n_below(_BOUNDS, scale), _BOUNDS.size - 1)
    c = min(max(int(np.floor(centre * 16 + 0.5)) + 8, 0), 16)
    return _ZERO[s, c], 33 + _MINUS[s, c], 66 + _MORE[s]


@strict_helper
def tell(chances, at, p):  # type: ignore[no-untyped-def]
    """Write the five chances that spell a number."""
    p[0], p[1] = told(chances, at[0]), told(chances, at[1])
    for i in range(3):
        p[2 + i] = told(chances, at[2] + 33 * i)


@strict_helper
def count(chances, at, q):  # type: ignore[no-untyped-def]
    """Learn from a number."""
    adapt(chances, at[0], q == 0)
    if q != 0:
        adapt(chances, at[1], q < 0)
        size = abs(q)
        for i in range(1, min(size + 1, ESCAPE)):
            adapt(chances, at[2] + 33 * min(i - 1, 2), i < size)


@strict_helper
def code_length(p, q):  # type: ignore[no-untyped-def]
    """Bits of a number under five chances."""
    if q == 0:
        return _BITS[p[0]]
    size = abs(q)
    bits = _BITS[CHANCE_LEVELS - p[0]] + _BITS[p[1] if q < 0 else CHANCE_LEVELS - p[1]]
    for i in range(1, min(size + 1, ESCAPE)):
        chance = p[1 + min(i, 3)]
        bits += _BITS[chance if i < size else CHANCE_LEVELS - chance]
    if size >= ESCAPE:
        bits += 2 * np.floor(np.log2(size - ESCAPE + 1.0)) + 1
    return bits


@strict_helper
def cheaper(p, v, weight):  # type: ignore[no-untyped-def]
    """The whole number near v of least ``bits + weight (v − q)²``: rounded, or one nearer 0."""
    q = int(np.floor(v + 0.5))
    if q == 0 or weight == np.inf:
        return q
    nearer = q - 1 if q > 0 else q + 1
    saved = code_length(p, q) - code_length(p, nearer)
    return nearer if saved > weight * ((v - nearer) ** 2 - (v - q) ** 2) else q


@strict_kernel
def spell(numbers, chances):  # type: ignore[no-untyped-def]
    """Decisions and their chances, for numbers (n) under chances (n, 5); 0 skips a number."""
    total = 0
    for k in range(numbers.size):
        if chances[k, 0] > 0:
            size = abs(numbers[k])
            total += 1 if size == 0 else 2 + min(size, ESCAPE - 1)
            if size >= ESCAPE:
                total += 2 * int(np.floor(np.log2(size - ESCAPE + 1.0))) + 1
    bits, told_chances = np.empty(total, np.int32), np.empty(total, np.int32)
    at = 0
    for k in range(numbers.size):
        if chances[k, 0] == 0:
            continue
        q = numbers[k]
        size = abs(q)
        bits[at], told_chances[at] = q == 0, chances[k, 0]
        at += 1
        if q == 0:
            continue
        bits[at], told_chances[at] = q < 0, chances[k, 1]
        at += 1
        for i in range(1, min(size + 1, ESCAPE)):
            bits[at], told_chances[at] = i < size, chances[k, 1 + min(i, 3)]
            at += 1
        if size >= ESCAPE:
            rest = size - ESCAPE + 1
            length = int(np.floor(np.log2(rest + 0.0)))
            for i in range(length + 1):
                bits[at], told_chances[at] = i < length, CHANCE_LEVELS // 2
                at += 1
            for i in range(length - 1, -1, -1):
                bits[at], told_chances[at] = (rest >> i) & 1, CHANCE_LEVELS // 2
                at += 1
    return bits[:at], told_chances[:at]


@strict_kernel
def chances_of_scale(chances, scale):  # type: ignore[no-untyped-def]
    """The five chances that spell numbers of mean size ``scale``."""
    p = np.empty(5, np.int32)
    tell(chances, contexts(scale, 0.0), p)
    return p
