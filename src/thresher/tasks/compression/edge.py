"""The edge: rows in, packets out."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.batch import Coded, Mode, Quantiser, coded, written
from thresher.tasks.compression.dictionary import Turn, take_turn, turn_towards
from thresher.tasks.compression.grid import grid_of
from thresher.tasks.compression.learners import Learners
from thresher.tasks.compression.packet import Kind, Packet, PacketError, packed, unpacked
from thresher.tasks.compression.search import (
    bits_at_error,
    lattice_at,
    least_slope,
    rows_over,
    transform_at,
)
from thresher.tasks.compression.state import CodecState

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

KEYFRAME = struct.Struct("<HQ")
_FAR = 1.1
_REST = 8
_SPEND = 0.98  # of the error bound; the rest is for surprises


class Batch(NamedTuple):
    """Rows to code: values, zero where missing; which are there; the grid they lie on."""

    Y: Array
    present: Array
    grid: int

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return int(self.present.sum())

    @property
    def squares(self) -> float:
        """Their squares, summed."""
        return float(np.square(self.Y).sum())

    def split(self, n: int) -> tuple[Batch, Batch]:
        """The first n rows, and the others."""
        return (
            Batch(self.Y[:n], self.present[:n], self.grid),
            Batch(self.Y[n:], self.present[n:], self.grid),
        )

    def from_state(self, state: CodecState) -> Callable[[Quantiser], Coded]:
        """How to code these rows from a state."""
        return partial(coded, state, self.Y, self.present)


class Choice(NamedTuple):
    """A coded batch, and the dictionary to send before it."""

    coded: Coded
    turn: Turn | None


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

    def __init__(
        self,
        codec: SensorCodec,
        n_sensors: int,
        reference: float | None,
        expected_rows: int | None,
    ) -> None:
        self._codec = codec
        self._reference = reference
        self._expected_rows = expected_rows
        self._slope: float | None = None
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
        """A dictionary, if one pays, and a batch; the first begins with a keyframe."""
        present = ~np.isnan(Y)
        packets = []
        if self._state is None:
            typical = np.median(Y[present]) if present.any() else 0.0
            packets.append(self._keyframe(np.array([typical])))
        self._learn(Y)
        batch = Batch(np.where(present, Y, 0.0).astype(np.float64), present, grid_of(Y[present]))
        if self._codec.n_nonzero is not None:
            choice = self._sparse(batch)
        elif self._codec.error == 0 or not batch.squares:
            choice = self._lossless(batch)
        else:
            return packets + self._within_bound(batch)
        return packets + self._coded(batch, choice)

    def _coded(self, batch: Batch, choice: Choice) -> list[bytes]:
        """The packets of a choice."""
        packets = [] if choice.turn is None else [self._dictionary(choice.turn)]
        payload = written(choice.coded, batch.present)
        self._state = choice.coded.state
        self._n_values += batch.n_values
        self._squares += batch.squares
        self._error += choice.coded.error
        self.n_rows_ += len(batch.Y)
        self.n_packets_[choice.coded.quantiser.mode.name.lower()] += 1
        return [*packets, self._packet(Kind.DATA, payload)]

    def _bound(self, batch: Batch) -> float:
        """The squared error that the stream may have after a batch."""
        squares = self._squares + batch.squares
        if self._reference is not None:
            squares = (self._n_values + batch.n_values) * self._reference**2
        return float(self._codec.error**2 * squares)

    # ------------------------------------------------------------------ choosing

    def _lossless(self, batch: Batch) -> Choice:
        if not batch.grid and batch.squares:
            raise ValueError(
                "error=0 is for values on a grid, such as whole numbers or tenths; these have more "
                "digits. Set an error above zero."
            )
        grid = batch.grid or grid_of(np.zeros(1))
        return Choice(lattice_at(batch.from_state(self._known()), grid, np.inf), None)

    def _within_bound(self, batch: Batch) -> list[bytes]:
        """Code a batch so that the error of the stream stays within its bound."""
        bound = self._bound(batch)
        allowed = bound - self._error
        if self._slope is None:
            at = partial(lattice_at, batch.from_state(self._known()), batch.grid)
            self._slope = least_slope(at, allowed, batch.n_values).slope
            choice, at = self._chosen(batch, self._slope)
            fit = least_slope(at, allowed, batch.n_values)
            self._slope = fit.slope
            n_over = rows_over(fit, np.where(batch.present, batch.Y, np.nan), allowed)
            if n_over:
                first, rest = batch.split(n_over)
                over = fit.over.quantiser if fit.over else fit.batch.quantiser
                state = self._known().copy()
                if choice.turn is not None:
                    take_turn(state, choice.turn)
                head = self._coded(first, Choice(first.from_state(state)(over), choice.turn))
                return head + self._within_bound(rest)
            return self._coded(batch, Choice(fit.batch, choice.turn))
        choice, at = self._chosen(batch, self._slope)
        spent = (self._error + choice.coded.error) / bound
        self._slope *= 2.0 ** float(np.clip(4 * (spent - _SPEND), -0.5, 0.5))
        if choice.coded.error > allowed:
            choice = Choice(least_slope(at, allowed, batch.n_values).batch, choice.turn)
        return self._coded(batch, choice)

    def _chosen(self, batch: Batch, slope: float) -> tuple[Choice, Callable[[float], Coded]]:
        """The cheapest of lattice, dictionary, and a new dictionary; and how to try it again."""
        state = self._known()
        with_lattice = partial(lattice_at, batch.from_state(state), batch.grid)
        choice, at = Choice(with_lattice(slope), None), with_lattice
        if self._N < 2 or self._rest:
            self._rest = max(0, self._rest - 1)
            return choice, at
        error, known = choice.coded.error, choice.coded.bits
        if not np.array_equal(state.D, np.eye(self._N)):
            with_codes = partial(transform_at, batch.from_state(state), batch.grid)
            found = with_codes(slope)
            if bits_at_error(found, error) < known:
                choice, at, known = Choice(found, None), with_codes, bits_at_error(found, error)
        best_gain, least = 0.0, np.inf
        for candidate in self._learners.candidates(state.D, self._codec.angle_bits):
            after = state.copy()
            take_turn(after, candidate.turn)
            with_turn = partial(transform_at, batch.from_state(after), batch.grid)
            found = with_turn(slope)
            bits = bits_at_error(found, error)
            least, saved = min(least, bits), (known - bits) / 8
            future = saved * self._batches_left(len(batch.Y))
            gain = self._learners.account(candidate, saved) + future - candidate.cost
            if gain > best_gain:
                best_gain, choice, at = gain, Choice(found, candidate.turn), with_turn
        if least > _FAR * known:
            self._rest = _REST  # dictionaries are far from paying: look again later
        return choice, at

    def _batches_left(self, n_rows: int) -> float:
        """How many more batches of this size are known to follow."""
        if self._expected_rows is None:
            return 0.0
        return max(0.0, (self._expected_rows - self.n_rows_) / n_rows - 1)

    def _sparse(self, batch: Batch) -> Choice:
        """As in the paper: the largest codes, and a dictionary when the error passes the bound."""
        size = self._reference or np.sqrt(batch.squares / max(batch.n_values, 1)) or 1.0
        step = float(max(self._codec.error, 1e-6) * size * np.sqrt(12))
        most = min(self._codec.n_nonzero or self._N, self._N)
        quantiser = Quantiser(Mode.TRANSFORM, batch.grid, step, np.inf, most)
        state = self._known()
        choice = Choice(batch.from_state(state)(quantiser), None)
        if self._N < 2 or choice.coded.error <= self._codec.error**2 * batch.squares:
            return choice
        clearly = 0.95 * choice.coded.error
        for candidate in self._learners.candidates(state.D, self._codec.angle_bits):
            after = state.copy()
            take_turn(after, candidate.turn)
            found = batch.from_state(after)(quantiser)
            if found.error < min(clearly, choice.coded.error):
                choice = Choice(found, candidate.turn)
        return choice

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
