"""Real data as files that people have: MP4, PNG, CSV, Parquet, Feather, JSON lines, WAV.

Writes each set that is in the folder of data files, then reads it through `thresher.open`, compares
what comes with what was written (H.264 within a few grey levels, all else exactly), and tells how
fast it was read.

    THRESHER_DATA=folder python benchmarks/real_files.py --out folder_for_files
"""

import gzip
import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import clock, command_line, data_folder
from rich.console import Console
from rich.table import Table
from scipy import sparse

import thresher
from thresher.datasets.files import find_data_file
from thresher.streams.writing import About, write_results

VIDEOS = {
    "highway": "cdnet_highway_120x160.npz",
    "hall": "i2r_hall_144x176.npz",
    "bootstrap": "i2r_bootstrap_120x160.npz",
    "escalator": "i2r_escalator_130x160.npz",
    "shoppingmall": "i2r_shoppingmall_128x160.npz",
    "watersurface": "i2r_watersurface_128x160.npz",
    "lobby": "i2r_lobby_rgb_128x160.npz",
}
PICTURES = {"faces": "cbcl_faces_19x19.npz", "orl": "orl_112x92.npz", "bsds": "bsds500_30img.npz"}
SENSORS = {
    "speed": ("los_loop_speed.npz", "speed"),
    "traffic": ("abilene_traffic.npz", "traffic"),
    "air": ("airly_krakow_2017.npz", "pm25"),
}
TEXTS = {"bbc": "bbc_news.jsonl.gz", "newsgroups": "20newsgroups.jsonl.gz"}
SOUNDS = {"drums": ("drums_808.npz", "mixture"), "piano": ("piano_excerpt.npz", "audio")}
RATE = 25.0

Made = tuple[Path, dict[str, Any], Any, float]
"""A file, how to open it, what is in it, and by how much that may differ."""


def loaded(file: str, key: str) -> Any:
    with np.load(find_data_file(file), allow_pickle=False) as stored:
        return stored[key]


def videos(out: Path) -> list[Made]:
    """For eyes, and with every bit."""
    made: list[Made] = []
    for name, file in VIDEOS.items():
        frames = loaded(file, "frames")
        flat, color = frames.reshape(len(frames), -1), frames.ndim == 4
        for suffix, error in ((".mp4", 5.0), (".mkv", 0.0)):
            about = About([], frames.shape[1:], RATE)
            path = write_results([flat], out / f"{name}{suffix}", about, ())
            made.append((path, {"color": color}, flat, error))
    return made


def pictures(out: Path) -> list[Made]:
    """A folder of PNG files for each set."""
    from PIL import Image

    made: list[Made] = []
    for name, file in PICTURES.items():
        images = loaded(file, "images")
        folder = out / name
        folder.mkdir(exist_ok=True)
        for number, image in enumerate(images):
            Image.fromarray(image).save(folder / f"{number:05}.png")
        made.append((folder, {"color": images.ndim == 4}, images.reshape(len(images), -1), 0.0))
    return made


def tables(out: Path) -> list[Made]:
    """CSV, Parquet and Feather with gaps, and .npy."""
    made: list[Made] = []
    for name, (file, key) in SENSORS.items():
        values = loaded(file, key)
        values = values.reshape(len(values), -1)
        names = [f"{key} {j}" for j in range(values.shape[1])]
        for suffix in (".csv", ".parquet", ".feather", ".npy"):
            path = write_results([values], out / f"{name}{suffix}", About(names), ())
            made.append((path, {}, values, 0.0))
    return made


def texts(out: Path) -> list[Made]:
    """JSON lines, plain and packed, and counts of words as CSR."""
    made: list[Made] = []
    for name, file in TEXTS.items():
        content = gzip.decompress(find_data_file(file).read_bytes())
        truth = [json.loads(line)["text"] for line in content.splitlines()]
        packed = {
            ".jsonl": content,
            ".jsonl.gz": gzip.compress(content, 1),
            ".jsonl.zst": pa.Codec("zstd").compress(content, asbytes=True),
        }
        for suffix, data in packed.items():
            path = out / f"{name}{suffix}"
            path.write_bytes(data)
            made.append((path, {"columns": "text"}, truth, 0.0))
    part = {key: loaded("bbc_news.npz", key) for key in ("data", "indices", "indptr", "shape")}
    counts = sparse.csr_array(
        (part["data"], part["indices"], part["indptr"]), shape=tuple(part["shape"])
    )
    path = out / "bbc_counts.npz"
    sparse.save_npz(path, counts)
    made.append((path, {}, counts, 0.0))
    return made


def sounds(out: Path) -> list[Made]:
    """WAV files of 16 bits."""
    made: list[Made] = []
    for name, (file, key) in SOUNDS.items():
        path, samples = out / f"{name}.wav", loaded(file, key).astype("<i2")
        with wave.open(str(path), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(int(loaded(file, "sample_rate")))
            sound.writeframes(samples.tobytes())
        made.append((path, {}, samples[:, None] / 2**15, 0.0))
    return made


def differs(truth: Any, read: Any) -> float:
    """The mean absolute difference; of texts, and where gaps are not alike, infinite."""
    if isinstance(truth, list):
        return 0.0 if truth == read else np.inf
    if sparse.issparse(truth):
        return float(abs(truth.astype(float) - read).max())
    if not np.array_equal(np.isnan(truth), np.isnan(read)):
        return np.inf
    read = read.astype(truth.dtype)  # CSV does not tell how many digits are meant
    return float(np.nanmean(np.abs(truth.astype(float) - read)))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    out = parser.parse_args().out
    if data_folder() is None:
        parser.error("say where the data are, with --data or THRESHER_DATA")
    out.mkdir(parents=True, exist_ok=True)
    shown = Table("file", "samples", "MB", "MB/s", "mean difference")
    kinds: list[Callable[[Path], list[Made]]] = [videos, pictures, tables, texts, sounds]
    for kind in kinds:
        for path, options, truth, error in kind(out):
            source = thresher.open(path, **options)
            with clock() as spent:
                read = source.load()
            difference = differs(truth, read)
            assert difference <= error, f"{path} differs by {difference}"
            files = [path] if path.is_file() else list(path.iterdir())
            size = sum(file.stat().st_size for file in files) / 1e6
            n = len(truth) if isinstance(truth, list) else truth.shape[0]
            row = f"{size:.1f}", f"{size / spent.wall:.0f}", f"{difference:.2g}"
            shown.add_row(path.name, str(n), *row)
    Console().print(shown)


if __name__ == "__main__":
    main()
