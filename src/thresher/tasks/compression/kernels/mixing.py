"""Chances of decisions from several experts at once, weighted by how well each did before.

An expert counts decisions in its own contexts. Their logits s_e are mixed, p = σ(Σ w_e s_e), and
the weights follow the gradient of the code length, w_e ← w_e + η (bit − p) s_e.

Logits and chances come from tables of whole numbers, and sums are done as written.
"""

from typing import Any

import numpy as np

from thresher.kernels.compiling import strict_helper

# Part of the format; by judgement.
_RATE = 0.02
_SLOWEST = 250  # decisions that a count remembers
_LEAST = 48  # the least chance, in units of 2⁻¹⁶
_SPAN = 2047  # logits are told in units of 1/256, up to ±8

_SQUASH = np.clip(
    np.rint(65536 / (1 + np.exp(-np.arange(-_SPAN, _SPAN + 1) / 256))), _LEAST, 65536 - _LEAST
).astype(np.int64)
_CHANCES = (np.arange(4096) + 0.5) / 4096
_STRETCH = np.rint(256 * np.log(_CHANCES / (1 - _CHANCES))) / 256
_BITS = -np.log2(np.maximum(np.arange(4097), 0.5) / 4096)


def first_counts(n_contexts: int) -> Any:
    """Contexts that have seen nothing: a chance of one half, in units of 2⁻¹⁶, and how often."""
    return np.stack([np.full(n_contexts, 32768), np.zeros(n_contexts)]).astype(np.int64)


@strict_helper
def mixed(counts, at, weights, logits):  # type: ignore[no-untyped-def]
    """The chance of a one, in units of 2⁻¹⁶, from the contexts that the experts are in."""
    total = 0.0
    for e in range(at.size):
        logits[e] = _STRETCH[counts[0, at[e]] >> 4]
        total += weights[e] * logits[e]
    level = int(np.floor(total * 256 + 0.5))
    return _SQUASH[min(max(level, -_SPAN), _SPAN) + _SPAN]


@strict_helper
def learn(counts, at, weights, logits, chance, bit):  # type: ignore[no-untyped-def]
    """Count a decision in all contexts, and trust those more that expected it."""
    missed = _RATE * ((1.0 if bit else 0.0) - chance / 65536)
    goal = 65535 if bit else 0
    for e in range(at.size):
        weights[e] += missed * logits[e]
        counts[0, at[e]] += (goal - counts[0, at[e]]) * 2 // (2 * counts[1, at[e]] + 3)
        if counts[1, at[e]] < _SLOWEST:
            counts[1, at[e]] += 1


@strict_helper
def bits_of(chance, bit):  # type: ignore[no-untyped-def]
    """Bits that a decision takes."""
    return _BITS[(chance if bit else 65536 - chance) >> 4]
