"""Binary decisions under chances, as bytes: a range coder that needs no carry.

The interval [low, high] of 32 bits is cut in proportion to the chance of a one; its side that came
true remains, and bytes that both ends share go out. Encoder and decoder are one function, so that
they cannot part.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import strict_helper, strict_kernel

CHANCE_BITS = 16
"""Chances are told in units of 2⁻¹⁶."""

_TOP = 2**32 - 1
_LOW, _HIGH, _CODE, _AT = range(4)


class Coder(NamedTuple):
    """Bytes that are written, or read; where, and the interval."""

    data: Any
    place: Any
    reads: bool


def writer(n_bytes: int) -> Coder:
    """Room for at most so many bytes."""
    return Coder(np.zeros(n_bytes, np.uint8), np.array([0, _TOP, 0, 0]), False)


def reader(data: bytes) -> Coder:
    """What a writer wrote; beyond their end there are zeros."""
    whole = np.frombuffer(bytearray(data + bytes(4)), np.uint8)
    code = int.from_bytes(whole[:4].tobytes(), "big")
    return Coder(whole, np.array([0, _TOP, code, 4]), True)


def written(coder: Coder) -> bytes:
    """All bytes, the last of which are zeros that the reader adds."""
    low, high, _, at = (int(x) for x in coder.place)
    # The shortest number of the interval: of `high`, as many leading bytes as tell it from `low`.
    for n in range(5):
        tail = high >> (32 - 8 * n) << (32 - 8 * n) if n else 0
        if tail >= low:
            break
    ended = coder.data[:at].tobytes() + tail.to_bytes(4, "big")
    return ended.rstrip(b"\0")


@strict_helper
def code_bit(coder, bit, chance):  # type: ignore[no-untyped-def]
    """Write a decision, or read one, under the chance of a one; the decision."""
    place = coder.place
    width = place[_HIGH] - place[_LOW]
    middle = place[_LOW] + (width >> CHANCE_BITS) * chance
    middle += ((width & 0xFFFF) * chance) >> CHANCE_BITS
    if coder.reads:
        bit = place[_CODE] <= middle
    if bit:
        place[_HIGH] = middle
    else:
        place[_LOW] = middle + 1
    while (place[_LOW] ^ place[_HIGH]) < 0x1000000:
        if coder.reads:
            after = coder.data[place[_AT]] if place[_AT] < coder.data.size else np.uint8(0)
            place[_CODE] = ((place[_CODE] << 8) & 0xFFFFFFFF) | after
        else:
            coder.data[place[_AT]] = place[_HIGH] >> 24
        place[_AT] += 1
        place[_LOW] = (place[_LOW] << 8) & 0xFFFFFFFF
        place[_HIGH] = ((place[_HIGH] << 8) & 0xFFFFFFFF) | 255
    return bit


@strict_kernel
def code_digits(coder, number, n):  # type: ignore[no-untyped-def]
    """Write or read the last n binary digits of a number, about which nothing is known."""
    value = np.int64(0)
    for i in range(n - 1, -1, -1):
        bit = code_bit(coder, ((number >> i) & 1) > 0, np.int64(32768))
        value = 2 * value + (1 if bit else 0)
    return value


@strict_kernel
def code_any(coder, number):  # type: ignore[no-untyped-def]
    """Write or read a number from 1 on: how many binary digits it has, then the digits."""
    length = np.int64(0)
    while length < 62 and code_bit(coder, (number >> (length + 1)) > 0, np.int64(32768)):
        length += 1
    return (np.int64(1) << length) + code_digits(coder, number, length)
