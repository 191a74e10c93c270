"""The edge: rows in, packets out."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.batch import Coded, Mode, Quantiser, coded, written
from thresher.tasks.compression.dictionary import Turn, take_turn, turn_towards
from thresher.tasks.compression.grid import grid_of
from thresher.tasks.compression.learners import Candidate, Learners
from thresher.tasks.compression.packet import Kind, Packet, PacketError, packed, unpacked
from thresher.tasks.compression.search import best_lattice, best_transform
from thresher.tasks.compression.state import CodecState

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

KEYFRAME = struct.Struct("<HQ")
_FAR = 1.1
_REST = 8


class Edge:
    """Codes what sensors report into packets for a `Cloud`; made by `SensorCodec.edge`.

    Attributes
    ----------
    n_bytes_ : dict
        Bytes sent so far, by kind of packet.
    n_packets_ : dict
        Packets sent so far: keyframes, batches by lattice and by dictionary, dictionaries.
    n_rows_ : int
        Rows sent so far.
    relative_error_ : float
        Root of the squared error so far over the squares so far, of observed entries.
    """

    def __init__(self, codec: SensorCodec, n_sensors: int, reference: float | None) -> None:
        self._codec = codec
        self._reference = reference
        self._N = n_sensors
        self._state: CodecState | None = None
        self._sequence = 0
        self._learners = Learners(codec.half_lives(), codec.n_nonzero)
        self._squares = self._error = 0.0
        self._n_values = self._rest = 0
        self._last = np.full(n_sensors, np.nan)
        self.n_rows_ = 0
        self.n_bytes_ = {kind.name.lower(): 0 for kind in Kind if kind != Kind.REQUEST}
        self.n_packets_ = {"keyframe": 0, "lattice": 0, "transform": 0, "dictionary": 0}

    @property
    def relative_error_(self) -> float:
        """Root of the squared error so far over the squares so far."""
        return float(np.sqrt(self._error / self._squares)) if self._squares else 0.0

    # ------------------------------------------------------------------- sending

    def send(self, Y: Any) -> list[bytes]:
        """Code rows; the packets have to reach the cloud in this order.

        Parameters
        ----------
        Y : array-like of shape (n, N)
            What the sensors report, a time in each row; NaN where one is silent.
        """
        Y = self._checked(Y)
        packets: list[bytes] = []
        size = self._codec.rows_per_packet
        for start in range(0, len(Y), size):
            packets += self._batch(Y[start : start + size])
        return packets

    def handle(self, request: bytes) -> list[bytes]:
        """Answer a request of the cloud: all that it needs to follow again.

        A keyframe with the last values, in which models start anew, and the dictionary.
        """
        if unpacked(request).kind != Kind.REQUEST:
            raise PacketError("This is not a request of a cloud; hand its answer on unchanged.")
        if self._state is None:
            return []
        D = self._state.D.copy()
        packets = [self._keyframe(self._state.level)]
        if not np.array_equal(D, np.eye(self._N)):
            packets.append(self._dictionary(turn_towards(D, np.eye(self._N), self._N - 1, 9)))
        return packets

    def _checked(self, Y: Any) -> Array:
        Y = np.asarray(Y)
        if Y.dtype.kind not in "fiub":
            raise TypeError("Sensor values must be numbers; put NaN where a sensor is silent.")
        if Y.dtype != np.float32:
            Y = Y.astype(np.float64)
        if Y.ndim != 2 or Y.shape[1] != self._N:
            raise ValueError(
                f"This edge has {self._N} sensors: pass an array of shape (rows, {self._N}), not "
                f"{Y.shape}."
            )
        if np.isinf(Y).any():
            raise ValueError("Some values are infinite; put NaN where a sensor failed.")
        return Y

    def _batch(self, Y: Array) -> list[bytes]:
        present = ~np.isnan(Y)
        grid = grid_of(Y[present])
        filled = np.where(present, Y, 0.0).astype(np.float64)
        packets = []
        if self._state is None:
            packets.append(self._keyframe(np.array([np.median(Y[present])] if grid or present.any() else [0.0])))
        n_values, squares = int(present.sum()), float(np.square(filled).sum())
        self._n_values += n_values
        self._squares += squares
        best, turn = self._best(filled, present, grid, n_values)
        if turn is not None:
            packets.append(self._dictionary(turn))
        payload = written(best, present)
        self._state = best.state
        self._error += best.error
        self.n_rows_ += len(Y)
        self.n_packets_[best.quantiser.mode.name.lower()] += 1
        packets.append(self._packet(Kind.DATA, payload))
        self._learn(Y)
        return packets

    def _allowed(self) -> float:
        """The squared error that is left to spend."""
        squares = self._squares
        if self._reference is not None:
            squares = self._n_values * self._reference**2
        return max(0.0, self._codec.error**2 * squares - self._error)

    # ------------------------------------------------------------------ choosing

    def _best(
        self, Y: Array, present: Array, grid: int, n_values: int
    ) -> tuple[Coded, Turn | None]:
        """The batch in fewest bytes, and the dictionary to send first, if one pays."""
        state = self._known()
        allowed = self._allowed()
        if allowed <= 0 and not grid and n_values:
            raise ValueError(
                "error=0 is for values on a grid, such as whole numbers or tenths; these have more "
                "digits. Set an error above zero."
            )
        if self._codec.n_nonzero is not None:
            return self._sparse(Y, present, grid)

        def attempt(quantiser: Quantiser) -> Coded:
            return coded(state, Y, present, quantiser)

        lattice = best_lattice(attempt, grid, allowed, n_values)
        if self._N < 2 or self._rest:
            self._rest = max(0, self._rest - 1)
            return lattice, None
        transform = best_transform(attempt, grid, allowed, n_values)
        best = lattice if transform is None or lattice.bits <= transform.bits else transform
        turn, least = self._paying(Y, present, grid, allowed, n_values, best)
        if turn is not None:
            after = state.copy()
            take_turn(after, turn)
            with_turn = best_transform(
                lambda q: coded(after, Y, present, q), grid, allowed, n_values
            )
            if with_turn is not None:
                return with_turn, turn
        if best is lattice and least > _FAR * lattice.bits:
            self._rest = _REST  # dictionaries are far from paying: look again later
        return best, None

    def _paying(
        self, Y: Array, present: Array, grid: int, allowed: float, n_values: int, best: Coded
    ) -> tuple[Turn | None, float]:
        """The turn whose account has reached its cost; and the fewest bits with any."""
        state, least, chosen, gain = self._known(), np.inf, None, 0.0
        step = None
        for candidate in self._learners.candidates(state.D, self._codec.angle_bits):
            after = state.copy()
            take_turn(after, candidate.turn)
            if step is None:
                found = best_transform(
                    lambda q, after=after: coded(after, Y, present, q), grid, allowed, n_values
                )
                if found is None:
                    break
                step = found.quantiser
            else:
                found = coded(after, Y, present, step)
            # Differences of error count too, at the price at which error buys bits.
            bits = found.bits + step.weight * (found.error - allowed) / step.step**2
            least = min(least, bits)
            saved = self._learners.account(candidate, (best.bits - bits) / 8)
            if saved - candidate.cost > gain:
                chosen, gain = candidate.turn, saved - candidate.cost
        return chosen, least

    def _sparse(self, Y: Array, present: Array, grid: int) -> tuple[Coded, Turn | None]:
        """As in the paper: the largest codes, and a dictionary when the error passes the bound."""
        state, N = self._known(), self._N
        n_nonzero = min(self._codec.n_nonzero or N, N)
        values = max(int(present.sum()), 1)
        size = self._reference or np.sqrt(np.square(Y).sum() / values) or 1.0
        step = max(self._codec.error, 1e-6) * size * np.sqrt(12)
        quantiser = Quantiser(Mode.TRANSFORM, grid, float(step), np.inf, n_nonzero)
        best = coded(state, Y, present, quantiser)
        turn: Turn | None = None
        if best.error > self._codec.error**2 * np.square(Y).sum():
            candidates: list[Candidate] = (
                self._learners.candidates(state.D, self._codec.angle_bits) if N > 1 else []
            )
            for candidate in candidates:
                after = state.copy()
                take_turn(after, candidate.turn)
                found = coded(after, Y, present, quantiser)
                if found.error < (0.95 if turn is None else 1.0) * best.error:
                    best, turn = found, candidate.turn
        return best, turn

    # ------------------------------------------------------------------- packets

    def _known(self) -> CodecState:
        assert self._state is not None
        return self._state

    def _packet(self, kind: Kind, payload: bytes) -> bytes:
        data = packed(Packet(kind, self._sequence, self._known().digest(), payload))
        self._sequence += 1
        self.n_bytes_[kind.name.lower()] += len(data)
        return data

    def _keyframe(self, level: Array) -> bytes:
        """Start anew from given values, one for all sensors or one each."""
        level = level.astype(np.float32)
        self._state = CodecState.starting_at(keyframe_level(level, self._N))
        self.n_packets_["keyframe"] += 1
        return self._packet(Kind.KEYFRAME, KEYFRAME.pack(self._N, self.n_rows_) + level.tobytes())

    def _dictionary(self, turn: Turn) -> bytes:
        take_turn(self._known(), turn)
        self._learners.settle()
        self.n_packets_["dictionary"] += 1
        return self._packet(Kind.DICTIONARY, turn.written())

    def _learn(self, Y: Array) -> None:
        rows = np.vstack([self._last, Y])
        if self._N > 1 and not self._rest:
            self._learners.learn(np.diff(rows, axis=0))
        self._last = rows[-1]


def keyframe_level(level: Array, n_sensors: int) -> Array:
    """The values that a keyframe tells, for all sensors."""
    whole = np.empty(n_sensors)
    whole[:] = level
    return whole
