"""Bits and their chances, through constriction's range coder."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.compression.kernels.adaptive_bits import CHANCE_LEVELS, ESCAPE, spell
from thresher.tasks.compression.packet import PacketError

_LONGEST = 60  # bits of a number; those of a batch have 52 at most, so a longer one is damage

Numbers = NDArray[Any]


def _constriction() -> Any:
    try:
        import constriction
    except ImportError:
        raise ImportError(
            "SensorCodec needs the package constriction; install it with: "
            'python -m pip install "thresher[codec]"'
        ) from None
    return constriction.stream


@cache
def _models() -> list[Any]:
    """A model for each chance; there is none for 0."""
    bernoulli = _constriction().model.Bernoulli
    levels = range(1, CHANCE_LEVELS)
    return [None, *(bernoulli(i / CHANCE_LEVELS, perfect=False) for i in levels)]


class BitWriter:
    """Collects decisions, each with the chance of a one in units of 1/4096."""

    def __init__(self) -> None:
        self._encoder = _constriction().queue.RangeEncoder()
        self._family = _constriction().model.Bernoulli(perfect=False)

    def bits(self, bits: Numbers, chances: Numbers) -> None:
        """Write decisions."""
        p = chances.ravel() / CHANCE_LEVELS
        self._encoder.encode(bits.ravel().astype(np.int32), self._family, p)

    def numbers(self, numbers: Numbers, chances: Numbers) -> None:
        """Write whole numbers, each under five chances; those whose first is 0 are left out."""
        self.bits(*spell(numbers.ravel(), chances.reshape(-1, 5)))

    def getvalue(self) -> bytes:
        """All so far."""
        words: NDArray[np.uint32] = self._encoder.get_compressed()
        # The last word often ends in zeros; the reader puts them back.
        return words.astype(">u4").tobytes().rstrip(b"\0")


class BitReader:
    """Reads what `BitWriter` wrote, given the same chances."""

    def __init__(self, data: bytes) -> None:
        whole = data + bytes(8 + -len(data) % 4)
        self._words = np.frombuffer(whole, dtype=">u4").astype(np.uint32)
        self._decoder = _constriction().queue.RangeDecoder(self._words)
        self._family = _constriction().model.Bernoulli(perfect=False)
        self._models = _models()

    def bits(self, chances: Numbers) -> Numbers:
        """Read decisions that do not depend on each other."""
        try:
            read: Numbers = self._decoder.decode(self._family, chances / CHANCE_LEVELS)
        except AssertionError:
            raise PacketError("The packet does not decode.") from None
        return read

    def number(self, chances: list[int]) -> int:
        """Read a whole number under five chances."""
        decode, models = self._decoder.decode, self._models
        try:
            if decode(models[chances[0]]):
                return 0
            negative = decode(models[chances[1]])
            size = 1
            while size < ESCAPE and decode(models[chances[1 + min(size, 3)]]):
                size += 1
            if size == ESCAPE:
                size += self._any_number()
        except AssertionError:
            raise PacketError("The packet does not decode.") from None
        return -size if negative else size

    def _any_number(self) -> int:
        """An Exp-Golomb code."""
        decode, even = self._decoder.decode, self._models[CHANCE_LEVELS // 2]
        length = 0
        while decode(even):
            length += 1
            if length > _LONGEST:
                raise PacketError("The packet does not decode: a number without end.")
        value = 1
        for _ in range(length):
            value = 2 * value + int(decode(even))
        return value - 1
