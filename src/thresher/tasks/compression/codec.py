"""Compression of sensor tables and streams within an error bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thresher.estimators.frames import columns_of, is_frame
from thresher.estimators.parameters import is_number, is_whole
from thresher.estimators.reports import write_report
from thresher.estimators.validation import unmasked
from thresher.published.orthogonal import DictionaryCompression
from thresher.tasks.compression.bounds import Bounds, bounds_of, check_errors
from thresher.tasks.compression.container import (
    Container,
    read_container,
    read_values,
    write_container,
    write_values,
)
from thresher.tasks.compression.decoder import Decoder
from thresher.tasks.compression.encoder import Encoder, RowCoder, checked_rows
from thresher.tasks.compression.packet import Payload
from thresher.tasks.compression.paper import MAX_ANGLE_BITS, PaperCoder
from thresher.tasks.compression.report import CompressionReport, Errors
from thresher.tasks.compression.wire import MAX_BYTES, MAX_ROWS, MAX_SENSORS, Array, file_bytes

_ROWS_PER_PACKET = 256  # heuristic: at half, streams take 9 % more bytes, at double, as many
_ROWS_PER_SLOT = 6  # paper D, Table I
_FILE_BATCH = 2**21
"""Values of a batch in a file. Heuristic: about 200 MB of memory while they are coded; half and
double take half and double of it."""


@dataclass(frozen=True)
class SensorCodec:
    r"""Compress the readings of N sensors within an error bound, for files and lossy channels.

    Each value is predicted from the sensor's past and from the other sensors, and the residual is
    quantised and coded arithmetically with adaptive probabilities. Where rounding and a general
    compressor take fewer bytes, they are used. An `Encoder` turns rows into packets, a `Decoder`
    packets into rows; `compress` makes the bytes of a file.

    Parameters
    ----------
    error : float, str, sequence or dict
        A number is the relative root mean square error,
        :math:`\sqrt{\sum (\hat y - y)^2 / \sum y^2}` over observed entries of all columns together,
        which holds for the stream so far after every packet. ``"1%"`` is the same for each column
        by itself. A sequence has a bound for each column, a dict for some, by name or number, and
        ``"*"`` for the rest: a number is then a root mean square error in the column's unit,
        ``"1%"`` relative to the column's own size. Zero is lossless to the bit, for values on a
        grid, such as whole numbers or tenths, or next to its points, such as ``3 * 0.1``; float32
        values come back as doubles that round to them.
    max_error : float, str, sequence or dict, optional
        The largest error that any value may have, in the column's unit, or as ``"1%"`` of the
        column's root mean square (in a stream: so far). Zero is as ``error=0`` for the column.
    effort : {1, 2, 3}
        How long to search for the smallest result. 1 is fastest, 3 is smallest. All efforts write
        the same format, and decoding takes the same time.
    batch_size : int, optional
        Rows in a packet; by default 256 in streams, and all in `compress`, if memory allows. With
        ``mode="paper"`` those of a time slot, by default 6.
    buffer_size : int
        Bytes of packets that an encoder keeps, to send them again when they were lost.
    mode : {"auto", "paper"}
        ``"paper"`` is the scheme of section II-B of paper D
        (`thresher.published.orthogonal.DictionaryCompression`): ``n_nonzero`` codes of every row by
        an orthogonal dictionary, which is sent when the relative error of a row exceeds ``error``.
        It guarantees no error, and missing values come back as the mean of the others.
    n_nonzero : int, optional
        With ``mode="paper"``: codes of a row, η₀.
    forgetting : float, optional
        With ``mode="paper"``: half-life of the dictionary in rows; the paper does not forget.
    angle_bits : int, optional
        With ``mode="paper"``: bits of the angles of a dictionary; by default, doubles.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import SensorCodec
    >>> rng = np.random.default_rng(0)
    >>> Y = np.round(20 + np.cumsum(rng.normal(size=(500, 5)), axis=0), 1)
    >>> codec = SensorCodec(error=0.01)
    >>> encoder, decoder = codec.encoder(5), codec.decoder()
    >>> found = [decoder.decode(packet).rows for packet in encoder.encode(Y)]
    >>> decoded = np.vstack([rows for rows in found if rows is not None])
    >>> bool(np.linalg.norm(decoded - Y) <= 0.01 * np.linalg.norm(Y))
    True
    """

    error: Any = 0.02
    max_error: Any = None
    effort: int = 2
    batch_size: int | None = None
    buffer_size: int = 1_000_000
    mode: str = "auto"
    n_nonzero: int | None = None
    forgetting: float | None = None
    angle_bits: int | None = None

    def __post_init__(self) -> None:
        check_errors(self.error, self.max_error)
        _check_range("effort", self.effort, 1, 3)
        _check_range("buffer_size", self.buffer_size, 0, 2**62)
        _check_range("batch_size", self.batch_size, 1, MAX_ROWS, optional=True)
        _check_range("n_nonzero", self.n_nonzero, 1, MAX_SENSORS, optional=True)
        _check_range("angle_bits", self.angle_bits, 2, MAX_ANGLE_BITS, optional=True)
        if not isinstance(self.mode, str) or self.mode not in ("auto", "paper"):
            raise ValueError(f"mode must be 'auto' or 'paper', got {self.mode!r}.")
        if self.forgetting is not None and not (is_number(self.forgetting) and self.forgetting > 0):
            raise ValueError(
                f"forgetting must be a positive number of rows or None, got {self.forgetting!r}."
            )
        own = (self.n_nonzero, self.forgetting, self.angle_bits)
        if self.mode == "auto" and any(value is not None for value in own):
            raise ValueError("n_nonzero, forgetting and angle_bits need mode='paper'.")
        if self.mode == "paper" and self.n_nonzero is None:
            raise ValueError("mode='paper' needs n_nonzero, how many codes of a row are sent.")
        if self.mode == "paper" and not (is_number(self.error) and self.max_error is None):
            raise ValueError("mode='paper' needs a number as error, and no max_error.")

    def encoder(
        self,
        n_sensors: int,
        *,
        reference: float | None = None,
        names: Sequence[str] | None = None,
        fill_packets: bool = False,
        start: Any = None,
    ) -> Encoder:
        """Return an encoder of a stream.

        Parameters
        ----------
        n_sensors : int
            N.
        reference : float, optional
            The root mean square to which relative errors refer; by default that of the stream so
            far.
        names : sequence of str, optional
            Of the columns, for errors by name.
        fill_packets : bool
            Let rows wait until a packet has ``batch_size`` of them; `Encoder.flush` sends the rest.
        start : array of shape (N, N), optional
            With ``mode="paper"``: the first dictionary; by default a random orthogonal matrix.
        """
        _check_range("n_sensors", n_sensors, 1, MAX_SENSORS)
        if reference is not None and not (is_number(reference) and reference > 0):
            raise ValueError(f"reference must be a positive number or None, got {reference!r}.")
        N, is_paper = int(n_sensors), self.mode == "paper"
        if start is not None and not is_paper:
            raise ValueError("start needs mode='paper'.")
        bounds = bounds_of(self.error, self.max_error, N, names)
        size = None if reference is None else np.full(N, reference)
        coder = self._coder(bounds, None if size is None else (size, size), start)
        rows = self.batch_size or (_ROWS_PER_SLOT if is_paper else _ROWS_PER_PACKET)
        exact = bool(bounds.exact.any())
        return Encoder(coder, rows, self.buffer_size, fill=fill_packets, exact=exact)

    def decoder(self, *, max_bytes: int = MAX_BYTES) -> Decoder:
        """Return a decoder of streams; ``max_bytes`` limits its memory, whatever packets claim."""
        return Decoder(max_bytes)

    def compress(
        self,
        Y: Any,
        *,
        about: dict[str, Any] | None = None,
        names: Sequence[str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bytes:
        """Return rows as the bytes of a file.

        Parameters
        ----------
        Y : array-like of shape (n, N)
            Rows in the order of time; NaN where a sensor is missing.
        about : dict, optional
            Kept with the data, as JSON.
        names : sequence of str, optional
            Of the columns, for errors by name; by default those of a data frame.
        progress : function of (rows done, rows in all), optional
            Called after every batch.
        """
        names = columns_of(Y) if names is None and is_frame(Y) else names
        Y = np.asarray(unmasked(Y))
        if Y.ndim != 2 or Y.shape[1] < 1:
            raise ValueError(f"Y must have shape (rows, sensors), got {Y.shape}.")
        n, N = Y.shape
        bounds = bounds_of(self.error, self.max_error, N, names)
        Y = checked_rows(Y, N, exact=bool(bounds.exact.any()))
        values = self.write_values(Y, bounds, progress)
        return write_container(Container(n, N, about or {}, values, []))

    @staticmethod
    def decompress(
        data: bytes,
        *,
        max_bytes: int = MAX_BYTES,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Return the rows in the bytes of a file, and what was kept about them.

        Parameters
        ----------
        data : bytes
            As `compress` returns them. Untrusted bytes are safe to read, within ``max_bytes``.
        max_bytes : int
            Memory that values and models may take, whatever the file claims.
        progress : function of (rows done, rows in all), optional
            Called after every batch.

        Raises
        ------
        PacketError
            If the bytes are not such a file, or not a whole one, or take more memory.
        """
        file = read_container(data, max_bytes)
        return read_values(file, max_bytes, progress), file.about

    def report(self, path: str | Path, Y: Any, names: Sequence[str] | None = None) -> Path:
        """Compress values, and write a report about their size and the error of each sensor.

        Parameters
        ----------
        path : str or Path
            The HTML file.
        Y : array-like of shape (n, N)
            As for `compress`.
        names : sequence of str, optional
            Of the sensors; by default those of a data frame.
        """
        names = columns_of(Y) if names is None and is_frame(Y) else names
        data = self.compress(Y, names=names)
        values = np.asarray(unmasked(Y), dtype=np.float64)
        n, N = values.shape
        done = CompressionReport(
            n_bytes=len(data),
            source_bytes=values.nbytes,
            memory=file_bytes(n, N),
            errors=Errors.of(self.decompress(data)[0], values),
            names=[f"sensor {j}" for j in range(N)] if names is None else list(map(str, names)),
            value_bytes=len(read_container(data, MAX_BYTES).values),
            values=values,
        )
        return write_report(self, done.page(), path, "compress(Y)")

    def write_values(
        self, Y: Array, bounds: Bounds, progress: Callable[[int, int], None] | None = None
    ) -> bytes:
        """Return checked rows as the values of a file, within some bounds."""
        n, N = Y.shape
        size = max(_ROWS_PER_PACKET, min(MAX_ROWS, _FILE_BATCH // N))
        size = self.batch_size or (_ROWS_PER_SLOT if self.mode == "paper" else size)
        coder, payloads = self._coder(bounds, _sizes(Y, bounds)), list[Payload]()
        for start in range(0, n, size):
            payloads += coder.code(Y[start : start + size], None, size)
            if progress is not None:
                progress(coder.n_rows, n)
        return write_values(payloads)

    def _coder(
        self, bounds: Bounds, sizes: tuple[Array, Array] | None, start: Any = None
    ) -> RowCoder | PaperCoder:
        if self.mode == "auto":
            return RowCoder(bounds, self.effort, sizes)
        N = len(bounds.groups)
        if start is not None and (
            np.shape(start) != (N, N) or np.linalg.matrix_rank(np.asarray(start, float)) < N
        ):
            raise ValueError(f"start must be an orthogonal matrix of shape ({N}, {N}).")
        assert self.n_nonzero is not None
        scheme = DictionaryCompression(
            N,
            self.n_nonzero,
            self.error,
            forgetting=self.forgetting,
            angle_bits=self.angle_bits,
            start=start,
        )
        return PaperCoder(scheme, self.angle_bits)


def _sizes(Y: Array, bounds: Bounds) -> tuple[Array, Array]:
    """Return the root mean square of each column's group, and of each column."""
    counts = np.count_nonzero(~np.isnan(Y), axis=0)
    squares = np.square(np.nan_to_num(Y.astype(np.float64))).sum(axis=0)
    own = np.sqrt(squares / np.maximum(counts, 1))
    shared = np.sqrt(bounds.summed(squares) / np.maximum(bounds.summed(counts), 1))
    return shared[bounds.groups], own


def _check_range(name: str, value: Any, low: int, high: int, *, optional: bool = False) -> None:
    if optional and value is None:
        return
    if not is_whole(value, low) or value > high:
        what = f"{high:,}" if high < 2**62 else "any number"
        also = " or None" if optional else ""
        raise ValueError(f"{name} must be an integer from {low} to {what}{also}, got {value!r}.")
