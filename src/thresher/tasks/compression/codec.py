"""Compression of sensor streams: section II of paper D."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from thresher.estimators.inputs import unmasked
from thresher.estimators.parameters import is_number, is_whole
from thresher.estimators.reporting import write_page
from thresher.linalg import Array
from thresher.tasks.compression.batch import LARGEST_BATCH
from thresher.tasks.compression.cloud import Cloud
from thresher.tasks.compression.container import Container, read_container, written_container
from thresher.tasks.compression.dictionary import MOST_ANGLE_BITS
from thresher.tasks.compression.edge import Edge, checked_rows
from thresher.tasks.compression.keyframe import MOST_SENSORS
from thresher.tasks.compression.learners import HALF_LIVES
from thresher.tasks.compression.limits import MOST_BYTES, check_memory, file_bytes
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.paper import NUMBER_BYTES
from thresher.tasks.compression.paper_edge import PaperEdge

_LARGEST_FILE_BATCH = 2**21  # values: by judgement, as numbers and chances they take 75 MB
_ROWS_PER_PACKET = 256  # by judgement; half-lives and speed were measured with it
_ROWS_PER_SLOT = 6  # paper D, Table I
_FINEST = 1e-9  # beyond the nine digits to which a dictionary is orthogonal (`least_slope`)


@dataclass(frozen=True)
class SensorCodec:
    r"""Compress what N sensors report, within an error bound, for a channel that loses packets.

    Two objects talk through bytes alone: `edge` turns rows into packets, `cloud` turns packets into
    rows. Values are predicted from what the cloud has, and the rest is coded; of two ways to do so
    the one with fewer bytes is taken, batch by batch: on a lattice in the units of the data, or by
    sparse codes with an orthogonal dictionary that the edge learns, and sends as N(N−1)/2 Givens
    angles when that saves more bytes than it costs.

    Parameters
    ----------
    error : float
        The relative root mean square error, :math:`\sqrt{\sum (\hat y - y)^2 / \sum y^2}` over
        observed entries, that holds for the stream so far after every packet. Zero is lossless,
        for values on a grid, such as whole numbers or tenths.
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

    error: float = 0.02
    n_nonzero: int | None = None
    forgetting: Any = "auto"
    batch_size: int | None = None
    angle_bits: int = 7
    mode: str = "auto"
    as_printed: bool = False
    number_bytes: int = 8

    def __post_init__(self) -> None:
        if not is_number(self.error) or not (self.error == 0 or _FINEST <= float(self.error) < 1):
            raise ValueError(
                f"error={self.error!r} must be a share of the size of the data, such as 0.02 for "
                f"2 %, and {_FINEST:g} at least; or 0 for no loss at all."
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
    ) -> Edge:
        """The side of the sensors.

        Parameters
        ----------
        n_sensors : int
            N.
        reference : float, optional
            The root mean square to which ``error`` refers; by default that of the stream so far.
        expected_rows : int, optional
            How long the stream will be, if that is known: dictionaries pay earlier.
        start : array of shape (N, N), optional
            Of ``mode="paper"``: D₀, the edge's first dictionary; by default a random one.
        """
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
        return Edge(self, int(n_sensors), reference, expected_rows)

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
    ) -> tuple[bytes, Edge]:
        """All rows as the bytes of a file, and the edge, which knows what was sent.

        Parameters
        ----------
        Y : array-like of shape (n, N)
            Rows in the order of time; NaN where a sensor is silent.
        about : dict, optional
            Kept with the data, as JSON.
        progress : function of (rows done, rows in all), optional
            Told after every batch.
        """
        Y = np.asarray(unmasked(Y))
        if Y.ndim != 2 or Y.shape[1] < 1:
            raise ValueError(f"Y must have shape (rows, sensors); got {Y.shape}.")
        Y = checked_rows(Y, Y.shape[1])
        # The same rows give the same file, so the stream is named by what is in it.
        name = zlib.crc32(Y.tobytes()) or 1
        whole = self
        if self.mode == "paper":
            edge: Edge = PaperEdge(self, Y.shape[1], None, name)
        else:
            if not self.batch_size:
                whole = replace(self, batch_size=_file_batch(Y.shape[1]))
            known = np.isfinite(Y).any()
            size = float(np.sqrt(np.nanmean(np.square(Y, dtype=np.float64)))) if known else 0.0
            edge = Edge(whole, Y.shape[1], size or None, len(Y), name)
        packets: list[bytes] = []
        for start in range(0, len(Y), whole.rows_per_packet):
            packets += edge.send(Y[start : start + whole.rows_per_packet])
            if progress is not None:
                progress(edge.n_rows_, len(Y))
        return written_container(Container(packets, len(Y), Y.shape[1], about or {})), edge

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
        file = read_container(data, max_bytes)
        check_memory(file_bytes(file.n_rows, file.n_sensors), max_bytes)
        values = np.empty((file.n_rows, file.n_sensors))
        cloud = Cloud(max_bytes - values.nbytes)
        for packet in file.packets:
            received = cloud.receive(packet)
            rows, start = received.values, received.start
            problem = received.problem
            if len(cloud.streams_) > 1 or cloud.gaps_:
                problem = "Its packets do not belong together."
            if problem is not None:
                raise PacketError(f"The file is damaged after row {start}: {problem}")
            if rows is not None:
                if rows.shape[1] != file.n_sensors or start + len(rows) > file.n_rows:
                    raise PacketError("The file has other rows than its head tells; get it again.")
                values[start : start + len(rows)] = rows
                if progress is not None:
                    progress(cloud.n_rows_, file.n_rows)
        if cloud.n_rows_ != file.n_rows:
            raise PacketError(
                f"The file has {cloud.n_rows_} of its {file.n_rows} rows; get it again."
            )
        return values, file.about

    def report(self, path: str | Path, Y: Any, names: Sequence[str] | None = None) -> Path:
        """Compress values, and write a page about their size and the error of each sensor.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        Y : array-like of shape (n, N)
            As for `compress`.
        names : sequence of str, optional
            Of the sensors.
        """
        from thresher.tasks.compression.codec_page import codec_page

        return write_page(self, codec_page(self, Y, names), path, "compress(Y)")


def _checked_start(start: Any, N: int) -> Array | None:
    if start is None:
        return None
    D = np.asarray(start, dtype=np.float64)
    if D.shape != (N, N) or not np.isfinite(D).all() or np.linalg.matrix_rank(D) < N:
        raise ValueError(f"start must be an orthogonal matrix of shape ({N}, {N}).")
    return D


def _file_batch(n_sensors: int) -> int:
    """As many rows as memory allows: one slope for all is best, and heads are few."""
    return max(_ROWS_PER_PACKET, min(LARGEST_BATCH, _LARGEST_FILE_BATCH // n_sensors))
