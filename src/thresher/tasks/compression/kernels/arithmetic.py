"""Binary arithmetic coding with adaptive, mixed probabilities.

A range coder without carry: the interval [low, high] of 32 bits is divided in proportion to the
probability of a one, the part of the decision remains, and leading bytes that both ends share are
written. Encoder and decoder are the same function, so that they cannot disagree.

The probability of a decision is a logistic mixture of several adaptive estimates, one for each
context that the decision is in: p = σ(Σ w_e s_e) with logits s_e. Weights follow the gradient of
the code length, w_e ← w_e + η (bit − p) s_e (as in lossless audio coders and PAQ).

Probabilities are integers in units of 2⁻¹⁶, logits come from tables, and sums are done in the order
that is written: encoder and decoder stay identical on every machine. All constants of this module
are part of the format.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import uncounted_helper, uncounted_kernel
from thresher.kernels.floors import TINY

# ------------------------------------------------------------------------ range coder

_TOP = 2**32 - 1
_LOW, _HIGH, _CODE, _AT = range(4)
_HALF = 32768  # a probability of one half
_BYTES_PER_VALUE = 64  # at most: 26 decisions of 10.4 bits each, and twice 62 digits
_ANY_DIGITS = 62  # of the largest integer that `code_integer` takes


class Coder(NamedTuple):
    """Bytes that are written or read, the position in them, and the interval."""

    data: Any
    place: Any
    reads: bool


def writer(n_values: int) -> Coder:
    """Return an encoder with a buffer for so many values."""
    data = np.zeros(_BYTES_PER_VALUE * (n_values + 1), np.uint8)
    return Coder(data, np.array([0, _TOP, 0, 0]), False)


def reader(data: bytes) -> Coder:
    """Return a decoder of what an encoder wrote; beyond the end it reads zeros."""
    padded = np.frombuffer(bytearray(data + bytes(4)), np.uint8)
    code = int.from_bytes(padded[:4].tobytes(), "big")
    return Coder(padded, np.array([0, _TOP, code, 4]), True)


def written(coder: Coder) -> bytes:
    """Return the bytes of an encoder, without trailing zeros, which the decoder adds."""
    low, high, _, at = (int(x) for x in coder.place)
    # The shortest number of the interval: the leading bytes of `high` that keep it above `low`.
    for n in range(5):
        tail = high >> (32 - 8 * n) << (32 - 8 * n) if n else 0
        if tail >= low:
            break
    return (coder.data[:at].tobytes() + tail.to_bytes(4, "big")).rstrip(b"\0")


@uncounted_helper
def code_bit(coder, bit, probability):  # type: ignore[no-untyped-def]
    """Write or read a decision under the probability of a one; return the decision."""
    place = coder.place
    low, high = place[_LOW], place[_HIGH]
    width = high - low
    middle = low + (width >> 16) * probability + (((width & 0xFFFF) * probability) >> 16)
    if coder.reads:
        bit = place[_CODE] <= middle
    if bit:
        high = middle
    else:
        low = middle + 1
    while (low ^ high) < 0x1000000:
        if coder.reads:
            after = coder.data[place[_AT]] if place[_AT] < coder.data.size else np.uint8(0)
            place[_CODE] = ((place[_CODE] << 8) & 0xFFFFFFFF) | after
        else:
            coder.data[place[_AT]] = high >> 24
        place[_AT] += 1
        low = (low << 8) & 0xFFFFFFFF
        high = ((high << 8) & 0xFFFFFFFF) | 255
    place[_LOW], place[_HIGH] = low, high
    return bit


@uncounted_kernel
def code_digits(coder, number, n):  # type: ignore[no-untyped-def]
    """Write or read the last n binary digits of a number at one bit each."""
    value = np.int64(0)
    for i in range(n - 1, -1, -1):
        bit = code_bit(coder, ((number >> i) & 1) > 0, np.int64(_HALF))
        value = 2 * value + (1 if bit else 0)
    return value


@uncounted_kernel
def code_integer(coder, number):  # type: ignore[no-untyped-def]
    """Write or read a positive integer by an Elias gamma code."""
    length = np.int64(0)
    while length < _ANY_DIGITS and code_bit(coder, (number >> (length + 1)) > 0, np.int64(_HALF)):
        length += 1
    return (np.int64(1) << length) + code_digits(coder, number, length)


# ---------------------------------------------------------------- adaptive probabilities

_SLOWEST = 250  # decisions after which an estimate adapts no more slowly
_RATES = 2 * 65536 // (2 * np.arange(_SLOWEST + 1) + 3)  # of adaptation, by decisions so far
_LEARNING_RATE = 0.02  # η
_LEAST = 48  # the smallest probability, in units of 2⁻¹⁶
_SPAN = 2047  # logits are in units of 1/256, up to ±8

_SQUASH = np.clip(
    np.rint(65536 / (1 + np.exp(-np.arange(-_SPAN, _SPAN + 1) / 256))), _LEAST, 65536 - _LEAST
).astype(np.int64)
_LEVELS = (np.arange(4096) + 0.5) / 4096
_LOGITS = np.rint(256 * np.log(_LEVELS / (1 - _LEVELS))) / 256
_BITS = -np.log2(np.maximum(np.arange(4097), 0.5) / 4096)


class Mixture(NamedTuple):
    """Estimates of all contexts, and the weights of the experts by kind of decision."""

    probabilities: Any  # of a one, in units of 2⁻¹⁶
    counts: Any  # decisions so far, up to _SLOWEST
    weights: Any  # (kinds, experts)
    contexts: Any  # of the decision at hand, (experts)
    logits: Any  # the same


def new_mixture(n_contexts: int, n_kinds: int, n_experts: int) -> Mixture:
    """Return estimates of one half, equally weighted."""
    return Mixture(
        np.full(n_contexts, _HALF),
        np.zeros(n_contexts, np.int64),
        np.full((n_kinds, n_experts), 1.5 / n_experts),
        np.zeros(n_experts, np.int64),
        np.zeros(n_experts),
    )


@uncounted_helper
def adapt(probabilities, counts, context, bit):  # type: ignore[no-untyped-def]
    """Move the estimate of a context towards a decision."""
    goal = 65535 if bit else 0
    step = (goal - probabilities[context]) * _RATES[counts[context]]
    probabilities[context] += step >> 16
    if counts[context] < _SLOWEST:
        counts[context] += 1


@uncounted_helper
def mixed_probability(mixture, kind):  # type: ignore[no-untyped-def]
    """Return the probability of a one in the contexts at hand, in units of 2⁻¹⁶."""
    total = 0.0
    for e in range(mixture.contexts.size):
        logit = _LOGITS[mixture.probabilities[mixture.contexts[e]] >> 4]
        mixture.logits[e] = logit
        total += mixture.weights[kind, e] * logit
    level = int(np.floor(total * 256 + 0.5))
    return _SQUASH[min(max(level, -_SPAN), _SPAN) + _SPAN]


@uncounted_helper
def learn_decision(mixture, kind, probability, bit):  # type: ignore[no-untyped-def]
    """Update the estimates and the weights after a decision."""
    step = _LEARNING_RATE * ((1.0 if bit else 0.0) - probability / 65536)
    for e in range(mixture.contexts.size):
        mixture.weights[kind, e] += step * mixture.logits[e]
        adapt(mixture.probabilities, mixture.counts, mixture.contexts[e], bit)


@uncounted_helper
def code_length(probability, bit):  # type: ignore[no-untyped-def]
    """Return the bits that a decision takes."""
    return _BITS[(probability if bit else 65536 - probability) >> 4]


# ------------------------------------------------------------- contexts of a Laplace law

N_LOGITS = 33
"""Levels of logits, from −8 to 8, that decisions are sorted into."""

_SCALES = 2.0 ** (np.arange(-24, 29) / 4)  # of the law, in units of the step
_BOUNDS = np.round(_SCALES * 2**0.125, 6)


def _logit_levels(p: Any) -> Any:
    """Return the nearest of the logit levels."""
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return np.clip(np.round(2 * np.log(p / (1 - p))) + 16, 0, N_LOGITS - 1).astype(np.int64)


def _laplace_levels() -> tuple[Any, Any, Any]:
    """Return logit levels of zero and minus by scale and centre, of continuing by scale."""
    b, x = _SCALES[:, None], np.arange(-8, 9)[None, :] / 16
    above, below = 0.5 * np.exp((x - 0.5) / b), 0.5 * np.exp((-0.5 - x) / b)
    zero, minus = 1 - above - below, below / np.maximum(above + below, TINY)
    return _logit_levels(zero), _logit_levels(minus), _logit_levels(np.exp(-1 / _SCALES))


_ZERO, _MINUS, _MORE = _laplace_levels()


def laplace_probabilities(n_decisions: int) -> tuple[Any, Any]:
    """Return the probability of each logit level, once per decision, and initial counts."""
    p = np.round(65535 / (1 + np.exp(-(np.arange(N_LOGITS) - 16) / 2))).astype(np.int64)
    return np.tile(p, n_decisions), np.full(n_decisions * N_LOGITS, 4)


@uncounted_helper
def n_below(bounds, value):  # type: ignore[no-untyped-def]
    """Return how many of the increasing bounds are below a value."""
    low, high = 0, bounds.size
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@uncounted_helper
def laplace_levels(scale, centre):  # type: ignore[no-untyped-def]
    """Return logit levels of zero, minus, and continuing; scale and centre in steps."""
    s = min(n_below(_BOUNDS, scale), _BOUNDS.size - 1)
    c = min(max(int(np.floor(centre * 16 + 0.5)) + 8, 0), 16)
    return _ZERO[s, c], _MINUS[s, c], _MORE[s]
