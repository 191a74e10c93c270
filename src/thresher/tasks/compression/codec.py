"""Compression of sensor streams: section II of paper D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thresher.estimators.frames import columns_of, is_frame
from thresher.estimators.inputs import unmasked
from thresher.estimators.parameters import is_number, is_whole
from thresher.estimators.reporting import write_page
from thresher.linalg import Array
from thresher.tasks.compression.bounds import asks_exact, bounds_of, check_errors
from thresher.tasks.compression.cloud import Cloud
from thresher.tasks.compression.container import Container, written_container
from thresher.tasks.compression.dictionary import MOST_ANGLE_BITS
from thresher.tasks.compression.dictionary_edge import DictionaryEdge
from thresher.tasks.compression.edge import Edge
from thresher.tasks.compression.keyframe import MOST_SENSORS
from thresher.tasks.compression.learners import HALF_LIVES
from thresher.tasks.compression.limits import LARGEST_BATCH, MOST_BYTES
from thresher.tasks.compression.paper import NUMBER_BYTES
from thresher.tasks.compression.paper_edge import PaperEdge
from thresher.tasks.compression.sender import Sender, checked_rows
from thresher.tasks.compression.writing import read_file, smallest_values

_ROWS_PER_PACKET = 256  # by judgement; half-lives and speed were measured with it
_ROWS_PER_SLOT = 6  # paper D, Table I


@dataclass(frozen=True)
class SensorCodec:
    r"""Compress what N sensors report, within an error bound, for a channel that loses packets.

    Two objects talk through bytes alone: `edge` turns rows into packets, `cloud` turns packets into
    rows. Values are predicted from what the cloud has, and the number of steps beside the
    prediction is coded, in the unit of each column. A file is written in several ways, among them
    plain ones, and the smallest is kept.

    Parameters
    ----------
    error : float, str, sequence or dict
        A number is the relative root mean square error,
        :math:`\sqrt{\sum (\hat y - y)^2 / \sum y^2}` over observed entries of all columns together,
        that holds for the stream so far after every packet. ``"1%"`` is the same for each column by
        itself. A sequence has a bound for each column, a dict for some, by name or number, and
        ``"*"`` for the rest: a number is then a root mean square error in the column's unit,
        ``"1%"`` relative to the column's own size. Zero is lossless to the bit, for values on a
        grid, such as whole numbers or tenths, or next to its points, such as ``3 * 0.1``; values
        of float32 come back as doubles that round to them.
    max_error : float, str, sequence or dict, optional
        The largest error that any value may have, in the column's unit, or as ``"1%"`` of the
        column's root mean square (in a stream: so far). Zero is as ``error=0`` for the column.
    n_nonzero : int, optional
        Code by the dictionary only, with at most so many codes in a row. ``error`` is then the
        fineness of the codes, and the error above which a dictionary is sent. As without it, what
        is coded are differences from predictions: the scheme of the paper, which codes the rows
        themselves, is ``mode="paper"``, with this as its η₀.
    mode : {"auto", "paper"}
        ``paper`` is the scheme of section II-B (`PaperEdge` has its four steps): η₀ codes of every
        row and their positions, by a dictionary that the edge learns with NoncvxSFW, and sends
        when the error of a row passes ``error``, ``‖y − ŷ‖ > error·‖y‖``. It promises no error.
        Silent sensors come back as the mean of the others.
    as_printed : bool
        Of ``paper``: code with the edge's dictionary, although the cloud's decodes (errata D.6).
        The default codes with the cloud's.
    number_bytes : {8, 4}
        Of ``paper``: bytes of a code or an angle, which it does not give.
    forgetting : "auto", None, or a half-life in rows
        Of the dictionary. ``auto`` learns with several half-lives, and sends the dictionary that
        saves most, its own bytes counted.
    batch_size : int, optional
        Rows in a packet; by default 256 in streams, and all in `compress`, if memory allows. In
        ``paper`` those of a time slot, after which the dictionary learns: 6, as in its table I.
    angle_bits : int
        Angles are sent in units of 2π/2^bits.
    buffer_size : int
        Bytes of packets that an edge keeps, to send them again when they were lost.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import SensorCodec
    >>> rng = np.random.default_rng(0)
    >>> Y = np.round(20 + np.cumsum(rng.normal(size=(500, 5)), axis=0), 1)
    >>> codec = SensorCodec(error=0.01)
    >>> edge, cloud = codec.edge(5), codec.cloud()
    >>> rows = [cloud.receive(packet).values for packet in edge.send(Y)]
    >>> decoded = np.vstack([values for values in rows if values is not None])
    >>> bool(np.linalg.norm(decoded - Y) <= 0.01 * np.linalg.norm(Y))
    True
    """

    error: Any = 0.02
    n_nonzero: int | None = None
    forgetting: Any = "auto"
    batch_size: int | None = None
    angle_bits: int = 7
    mode: str = "auto"
    as_printed: bool = False
    number_bytes: int = 8
    max_error: Any = None
    buffer_size: int = 1_000_000

    def __post_init__(self) -> None:
        check_errors(self.error, self.max_error)
        if not is_whole(self.buffer_size, 0):
            raise ValueError(f"buffer_size={self.buffer_size!r} must be a number of bytes, or 0.")
        if self.n_nonzero is not None and not (is_number(self.error) and self.max_error is None):
            raise ValueError(
                "n_nonzero goes with one error for all columns, and without max_error."
            )
        if self.n_nonzero is not None and self.mode != "paper" and self.error == 0:
            raise ValueError(
                "error=0 is lossless, and n_nonzero drops codes: set an error above zero, or leave "
                "n_nonzero out."
            )
        for name, most in (("n_nonzero", 2**31), ("batch_size", LARGEST_BATCH)):
            value = getattr(self, name)
            if value is not None and not (is_whole(value) and value <= most):
                raise ValueError(
                    f"{name}={value!r} must be a whole number from 1 to {most}, or None."
                )
        if not is_whole(self.angle_bits, 2) or self.angle_bits > MOST_ANGLE_BITS:
            raise ValueError(
                f"angle_bits={self.angle_bits!r} must be a whole number from 2 to "
                f"{MOST_ANGLE_BITS}."
            )
        self.half_lives()
        self._check_mode()

    def _check_mode(self) -> None:
        if not isinstance(self.mode, str) or self.mode not in ("auto", "paper"):
            raise ValueError(f"mode={self.mode!r} is not known; use 'auto' or 'paper'.")
        if not isinstance(self.as_printed, bool):
            raise ValueError(f"as_printed={self.as_printed!r} must be True or False.")
        if not is_whole(self.number_bytes) or self.number_bytes not in NUMBER_BYTES:
            raise ValueError(
                f"number_bytes={self.number_bytes!r} must be 8, for doubles, or 4, for floats."
            )
        if self.mode == "paper" and self.n_nonzero is None:
            raise ValueError("mode='paper' needs n_nonzero, how many codes of a row are sent.")
        if self.mode == "paper" and self.forgetting not in ("auto", None):
            raise ValueError("mode='paper' does not forget; leave forgetting out.")
        if self.mode == "auto" and (self.as_printed or self.number_bytes != 8):
            raise ValueError("as_printed and number_bytes are for mode='paper'.")

    @property
    def rows_per_packet(self) -> int:
        """The rows that a packet holds."""
        usual = _ROWS_PER_SLOT if self.mode == "paper" else _ROWS_PER_PACKET
        return usual if self.batch_size is None else int(self.batch_size)

    def half_lives(self) -> tuple[float | None, ...]:
        """The half-lives to learn dictionaries with."""
        value = self.forgetting
        if isinstance(value, str) and value == "auto":
            return HALF_LIVES
        if value is None:
            return (None,)
        if is_number(value) and value > 0:
            return (float(value),)
        raise ValueError(
            f"forgetting={value!r} is not known; use 'auto', None, or a half-life in rows."
        )

    def edge(
        self,
        n_sensors: int,
        *,
        reference: float | None = None,
        expected_rows: int | None = None,
        start: Any = None,
        names: Sequence[str] | None = None,
        patience: int = 0,
    ) -> Sender:
        """The side of the sensors.

        Parameters
        ----------
        n_sensors : int
            N.
        reference : float, optional
            The root mean square to which ``error`` refers; by default that of the stream so far.
        expected_rows : int, optional
            Of ``n_nonzero``: how long the stream will be, if that is known.
        start : array of shape (N, N), optional
            Of ``mode="paper"``: D₀, the edge's first dictionary; by default a random one.
        names : sequence of str, optional
            Of the columns, for errors that are asked by name.
        patience : int
            Rows that may wait at the edge until a packet is worth its frame, where rows take next
            to nothing: `send` then returns packets when they are due, and ``flush`` the rest.
        """
        if not is_whole(patience, 0) or patience > LARGEST_BATCH:
            raise ValueError(
                f"patience={patience!r} must be a whole number of rows from 0 to {LARGEST_BATCH}."
            )
        if patience and (self.mode == "paper" or self.n_nonzero is not None):
            raise ValueError("patience is for streams without dictionaries: leave n_nonzero out.")
        if not is_whole(n_sensors) or n_sensors > MOST_SENSORS:
            raise ValueError(
                f"n_sensors={n_sensors!r} must be a whole number from 1 to {MOST_SENSORS}; "
                "split more sensors into groups of neighbours."
            )
        if reference is not None and not (is_number(reference) and reference > 0):
            raise ValueError(f"reference={reference!r} must be a positive number, or None.")
        if expected_rows is not None and not is_whole(expected_rows, 0):
            raise ValueError(f"expected_rows={expected_rows!r} must be a whole number, or None.")
        if self.mode == "paper":
            return PaperEdge(self, int(n_sensors), _checked_start(start, n_sensors))
        if start is not None:
            raise ValueError("start is for mode='paper'; other streams start without a dictionary.")
        if self.n_nonzero is not None:
            return DictionaryEdge(self, int(n_sensors), reference, expected_rows)
        bounds = bounds_of(self.error, self.max_error, int(n_sensors), names)
        size = None if reference is None else np.full(int(n_sensors), float(reference))
        sizes = None if size is None else (size, size)
        return Edge(self, int(n_sensors), bounds, sizes, patience=int(patience))

    def cloud(self, *, max_bytes: int = MOST_BYTES) -> Cloud:
        """The side that wants the rows.

        Parameters
        ----------
        max_bytes : int
            Memory that it may take, whatever packets claim.
        """
        return Cloud(max_bytes)

    def compress(
        self,
        Y: Any,
        *,
        about: dict[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[bytes, Sender]:
        """All rows as the bytes of a file, and the edge, which knows what was sent.

        Parameters
        ----------
        Y : array-like of shape (n, N)
            Rows in the order of time; NaN where a sensor is silent.
        about : dict, optional
            Kept with the data, as JSON.
        progress : function of (rows done, rows in all), optional
            Told after every batch.
        names : sequence of str, optional
            Of the columns, for errors that are asked by name; by default those of a data frame.
        """
        names = columns_of(Y) if names is None and is_frame(Y) else names
        Y = np.asarray(unmasked(Y))
        if Y.ndim != 2 or Y.shape[1] < 1:
            raise ValueError(f"Y must have shape (rows, sensors); got {Y.shape}.")
        Y = checked_rows(Y, Y.shape[1], exact=asks_exact(self.error, self.max_error))
        values, edge = smallest_values(self, Y, names, progress or _silent)
        n, N = Y.shape
        return written_container(Container(n, N, about or {}, values, [])), edge

    @staticmethod
    def decompress(
        data: bytes,
        *,
        max_bytes: int = MOST_BYTES,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """The rows in the bytes of a file, and what was kept about them.

        Parameters
        ----------
        data : bytes
            As `compress` made them. Those of strangers are safe to read, within ``max_bytes``.
        max_bytes : int
            Memory that values and models may take, whatever the file claims.
        progress : function of (rows done, rows in all), optional
            Told after every packet.

        Raises
        ------
        PacketError
            If the bytes are not such a file, or not a whole one, or take more memory.
        """
        file = read_file(data, max_bytes, progress or _silent)
        return file.values, file.about

    def report(self, path: str | Path, Y: Any, names: Sequence[str] | None = None) -> Path:
        """Compress values, and write a page about their size and the error of each sensor.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        Y : array-like of shape (n, N)
            As for `compress`.
        names : sequence of str, optional
            Of the sensors; by default those of a data frame.
        """
        from thresher.tasks.compression.codec_page import codec_page

        names = columns_of(Y) if names is None and is_frame(Y) else names
        return write_page(self, codec_page(self, Y, names), path, "compress(Y)")


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


def _checked_start(start: Any, N: int) -> Array | None:
    if start is None:
        return None
    D = np.asarray(start, dtype=np.float64)
    if D.shape != (N, N) or not np.isfinite(D).all() or np.linalg.matrix_rank(D) < N:
        raise ValueError(f"start must be an orthogonal matrix of shape ({N}, {N}).")
    return D
