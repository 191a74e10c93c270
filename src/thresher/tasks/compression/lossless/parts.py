"""Bytes that are read part by part, and checked at every part."""

from thresher.tasks.compression.packet import PacketError

_LONGEST = 10  # bytes of a number: 64 bits, seven in each


def number(value: int) -> bytes:
    """A whole number from 0 to 2⁶⁴ − 1, seven bits in a byte, the last ones first."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def signed(value: int) -> bytes:
    """A whole number of 64 bits with its sign."""
    return number(2 * value if value >= 0 else -2 * value - 1)


def part(data: bytes) -> bytes:
    """Bytes after their number."""
    return number(len(data)) + data


class Reader:
    """What `number`, `signed` and `part` wrote; `PacketError` where there is less."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, n: int) -> bytes:
        """So many bytes."""
        if self.at + n > len(self._data):
            raise PacketError("The file is cut short, or damaged; get it again.")
        self.at += n
        return self._data[self.at - n : self.at]

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._data) - self.at)

    def number(self) -> int:
        """A whole number from 0 to 2⁶⁴ − 1."""
        value = 0
        for i in range(_LONGEST):
            (byte,) = self.take(1)
            value |= (byte & 127) << 7 * i
            if byte < 128:
                break
        else:
            byte = 128
        if byte > 127 or value >= 2**64:
            raise PacketError("The file has a number that makes no sense; get it again.")
        return value

    def signed(self) -> int:
        """A whole number with its sign."""
        value = self.number()
        return value // 2 if value % 2 == 0 else -(value + 1) // 2

    def part(self) -> bytes:
        """Bytes after their number."""
        return self.take(self.number())

    def end(self) -> None:
        """Nothing may be left."""
        if self.at != len(self._data):
            raise PacketError("The file has bytes that belong to nothing; get it again.")
