"""The edge that codes by a dictionary alone: rows in, packets out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.batch import written
from thresher.tasks.compression.chooser import Budget, Choice, Chooser, Rows
from thresher.tasks.compression.dictionary import Rotation, rotate_dictionary, rotation_towards
from thresher.tasks.compression.grid import GRIDS
from thresher.tasks.compression.keyframe import Keyframe
from thresher.tasks.compression.packet import Kind
from thresher.tasks.compression.sender import Sender, checked_rows
from thresher.tasks.compression.state import CodecState

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

# Bounds of doubles, with a margin by judgement: 2⁻⁵² of a number is its rounding.
_FINEST = 2.0**-30  # of the values, without a grid
_FAR = 2.0**45
_NOTHING = 1e-16  # of the largest value: too little to learn from


class DictionaryEdge(Sender):
    """Sends few codes in a row; made by ``SensorCodec(n_nonzero=…)``.

    It is also one of the ways to write a file, where a lattice or a dictionary that pays for itself
    may take fewer bytes than the columns do one after the other.

    Attributes
    ----------
    relative_error_ : float
        Root of the squared error so far over the squares so far, of observed entries.
    """

    def __init__(
        self,
        codec: SensorCodec,
        n_sensors: int,
        reference: float | None,
        expected_rows: int | None,
        stream: int | None = None,
    ) -> None:
        super().__init__(codec.buffer_size, stream)
        self._codec = codec
        self._reference = reference
        self._expected_rows = expected_rows
        self._N = n_sensors
        self._state: Any = None  # a CodecState, or that of the paper's scheme
        self._chooser = Chooser(codec, n_sensors)
        self._squares = self._error = 0.0
        self._n_values = 0
        self._last = np.full(n_sensors, np.nan)
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
        Y = checked_rows(Y, self._N)
        size = self._codec.rows_per_packet
        batches = [Rows.of(Y[start : start + size]) for start in range(0, len(Y), size)]
        if self._codec.error == 0 and any(rows.n_values and not rows.grid for rows in batches):
            raise ValueError(
                "error=0 is for values on a grid, such as whole numbers or tenths; these have more "
                "digits. Set an error above zero."
            )
        return [packet for rows in batches for packet in self._batch(rows)]

    def _restart_packets(self) -> list[bytes]:
        """All that a cloud needs to follow from here."""
        self._is_copy = False
        if self._state is None:
            return []
        D = self._state.D.copy()
        packets = [self._keyframe(self._state.level, gives_up=True)]
        if not np.array_equal(D, np.eye(self._N)):
            packets.append(self._dictionary(rotation_towards(D, np.eye(self._N), 9)))
        return packets

    def _batch(self, rows: Rows) -> list[bytes]:
        """The packets of a batch; the first begins with a keyframe."""
        packets = self._restart_packets() if self._is_copy else []
        known = rows.Y[rows.present]
        if self._state is None or self._is_far(known, rows.grid):
            packets.append(self._keyframe(np.array([np.median(known) if known.size else 0.0])))
        whole = np.vstack([self._last, np.where(rows.present, rows.Y, np.nan)])
        innovations = np.diff(whole, axis=0)
        largest = np.abs(whole).max(initial=0.0, where=~np.isnan(whole))
        innovations[np.abs(innovations) < _NOTHING * largest] = 0
        self._chooser.learn(innovations)
        self._last = whole[-1]
        while len(rows.Y):
            choice = self._chooser.choose(
                self._known(), rows, self._budget(rows), self._batches_left(len(rows.Y))
            )
            packets += self._coded(choice)
            rows = rows.part(slice(len(choice.rows.Y), None))
        return packets

    def _is_far(self, known: Array, grid: int) -> bool:
        """Whether the last values are so large beside these that doubles lose what is between."""
        if not known.size:
            return False
        finest = GRIDS[grid].spacing or _FINEST * np.abs(known).max()
        return bool(np.abs(self._known().level).max() > _FAR * finest)

    def _budget(self, rows: Rows) -> Budget:
        """What error the stream may have after some rows, and has before."""
        squares = self._squares + rows.squares
        if self._reference is not None:
            squares = (self._n_values + rows.n_values) * self._reference**2
        return Budget(float(self._codec.error**2 * squares), self._error)

    def _batches_left(self, n_rows: int) -> float:
        """How many more batches of this size are known to follow."""
        if self._expected_rows is None:
            return 0.0
        return max(0.0, (self._expected_rows - self.n_rows_) / n_rows - 1)

    # ------------------------------------------------------------------- packets

    def _known(self) -> CodecState:
        state: CodecState = self._state
        assert state is not None
        return state

    def _data(self, kind: Kind, payload: bytes) -> bytes:
        return self._packet(kind, payload, self._state.digest(self.n_rows_, self._sequence))

    def _coded(self, choice: Choice) -> list[bytes]:
        """The packets of a choice."""
        if not np.isfinite(choice.coded.error):
            raise ValueError(
                "Some values are too large beside the others to be coded in one stream; put NaN "
                "where a sensor failed, or start a new edge."
            )
        packets = [] if choice.rotation is None else [self._dictionary(choice.rotation)]
        payload = written(choice.coded, choice.rows.present)
        self._state = choice.coded.state
        self._n_values += choice.rows.n_values
        self._squares += choice.rows.squares
        self._error += choice.coded.error
        self.n_rows_ += len(choice.rows.Y)
        self.n_packets_[choice.coded.quantiser.mode.name.lower()] += 1
        return [*packets, self._data(Kind.DATA, payload)]

    def _keyframe(self, level: Array, *, gives_up: bool = False) -> bytes:
        """Start anew from given values, one for all sensors or one each."""
        keyframe = Keyframe(self._N, self.n_rows_, level.astype(np.float32), gives_up=gives_up)
        self._state = keyframe.state()
        return self._keyframe_packet(keyframe.written())

    def _dictionary(self, rotation: Rotation) -> bytes:
        rotate_dictionary(self._known(), rotation)
        self.n_packets_["dictionary"] += 1
        return self._data(Kind.DICTIONARY, rotation.written())
