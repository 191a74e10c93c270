"""Streams of the sensor codec: bytes of packets, damage, speed.

Temperature, humidity and pressure of 56 sensors in Kraków, hourly, 8593 hours of 2017, a fifth to a
third missing. Humidity outside 0 to 150 is taken as missing.

**files**: bytes and seconds at 1, 2 and 5 %, effort 1 to 3.

**streams**: all bytes of packets of 256 rows with their times, at 1, 2 and 5 %, effort 1 to 3; the
seconds of encoder and decoder.

**fuzz**: over 10,000 damaged packets, half of them with a checksum that was made good.

    THRESHER_DATA=folder python benchmarks/sensor_codec.py [--parts …] [--data folder]
"""

import copy
import struct
from binascii import crc_hqx
from collections.abc import Callable
from typing import Any

import numpy as np
from common import RESULTS, clock, command_line, read_json, write_json
from sensor_tables import ours, relative_error

from thresher import SensorCodec
from thresher.datasets.files import find_data_file
from thresher.linalg import Array
from thresher.testing import damaged

QUANTITIES = ("temperature", "humidity", "pressure")
ERRORS = (0.01, 0.02, 0.05)
ROWS = 256


def sensors(quantity: str) -> tuple[Array, Array]:
    """Values, and times in seconds."""
    with np.load(find_data_file("airly_krakow_2017.npz"), allow_pickle=False) as z:
        Y, times = z[quantity].astype(np.float64), z["time"].astype("M8[s]").astype(np.int64)
    if quantity == "humidity":
        Y[(Y < 0) | (Y > 150)] = np.nan
    return Y, times


def rows_of(measure: Callable[[Array, Array, float, int], Any]) -> list[dict[str, Any]]:
    found = []
    for quantity in QUANTITIES:
        Y, times = sensors(quantity)
        for error in ERRORS:
            row: dict[str, Any] = {"quantity": quantity, "error": error}
            row |= {f"effort {e}": measure(Y, times, error, e) for e in (1, 2, 3)}
            found.append(row)
            print(row, flush=True)
    return found


def files() -> list[dict[str, Any]]:
    return rows_of(lambda Y, _, error, effort: ours(Y, error, effort))


def streamed(Y: Array, times: Array, error: float, effort: int) -> tuple[int, float, float]:
    """Bytes of all packets, and seconds of both sides."""
    codec = SensorCodec(error=error, effort=effort)
    encoder, decoder, packets = codec.encoder(Y.shape[1]), codec.decoder(), list[bytes]()
    with clock() as encoding:
        for i in range(0, len(Y), ROWS):
            packets += encoder.encode(Y[i : i + ROWS], times=times[i : i + ROWS])
    with clock() as decoding:
        found = [decoder.decode(packet) for packet in packets]
    values = np.vstack([result.rows for result in found if result.rows is not None])
    assert relative_error(values, Y) <= error
    return sum(map(len, packets)), encoding.processor, decoding.processor


def streams() -> list[dict[str, Any]]:
    return rows_of(streamed)


def fuzz(n: int = 10_600) -> dict[str, Any]:
    """Damage is harmless if the bytes are as before, or decode to the very same values."""
    rng = np.random.default_rng(0)
    Y = np.round(20 + np.cumsum(rng.normal(size=(480, 6)), axis=0), 1)
    found = dict.fromkeys(("unchanged", "same values", "refused", "request", "wrong"), 0)
    for codec in (SensorCodec(error=0.02), SensorCodec(error=0.1, n_nonzero=2, mode="paper")):
        encoder, decoder, truth = codec.encoder(6), codec.decoder(), codec.decoder()
        sent = [packet for i in range(12) for packet in encoder.encode(Y[40 * i : 40 * i + 40])]
        for packet in sent:
            right = truth.decode(packet).rows
            for i in range(n // (2 * len(sent)) + 1):
                data = damaged(packet, sent[rng.integers(len(sent))], rng)
                if i % 2 and len(data) >= 16:
                    data = data[:-2] + struct.pack("<H", crc_hqx(data[:-2], 0xFFFF))
                if data in sent:
                    found["unchanged"] += 1
                    continue
                try:
                    result = copy.deepcopy(decoder).decode(data)
                except ValueError:
                    found["refused"] += 1
                    continue
                if result.problem is not None:
                    found["request" if result.rows is None else "wrong"] += 1
                else:
                    same = result.rows is right or np.array_equal(
                        result.rows, right, equal_nan=True
                    )
                    found["same values" if same else "wrong"] += 1
            decoder.decode(packet)
    print(found, flush=True)
    return found


PARTS: dict[str, Callable[[], Any]] = {"files": files, "streams": streams, "fuzz": fuzz}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    file = RESULTS / "sensor_codec.json"
    results = read_json(file)
    for part in options.parts:
        results[part] = PARTS[part]()
        write_json(file, results)


if __name__ == "__main__":
    main()
