"""The small files of ``thresher sample``: every command of the documentation is shown on them."""

import json
import wave
import zlib
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

from thresher.cli import app
from thresher.datasets import add_gaussian, make_surveillance_scene, occlude, poisson

STORED = Path(__file__).parents[1] / "data" / "samples.npz"
KINDS = ["table", "docs", "photo", "sensors", "photographs", "scene", "tune"]


def sample(kind, folder):
    """Write a sample and return its files."""
    done = CliRunner().invoke(app, ["sample", kind, "--out", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    return sorted(map(Path, json.loads(done.stdout)["files"]))


def values_of(files):
    """The numbers of a sample; of documents, a checksum of each."""
    first, ending = files[0], files[0].suffix
    if ending == ".jsonl":
        return np.array([zlib.crc32(line) for line in first.read_bytes().splitlines()], float)
    if ending == ".csv":
        return pd.read_csv(first).select_dtypes("number").to_numpy(float)
    if ending == ".npy":
        return np.load(first).astype(float)
    if ending == ".wav":
        with wave.open(str(first)) as file:
            return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(float)
    return np.array([np.asarray(Image.open(path)) for path in files], float)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_the_same_everywhere(kind, tmp_path):
    """Pages of the documentation state figures of them: some hundred values are compared."""
    values = values_of(sample(kind, tmp_path)).ravel()
    with np.load(STORED) as file:
        size, stored = int(file[f"{kind} size"]), file[kind]
    assert values.size == size
    unit = 1.0 if kind in ("photo", "photographs", "tune") else 1e-6 * np.nanmax(np.abs(values))
    np.testing.assert_allclose(values[:: size // 300], stored, atol=unit)


def test_the_table_has_missing_values_and_counters_that_fail(tmp_path):
    (path,) = sample("table", tmp_path)
    counts = pd.read_csv(path).to_numpy(float)
    assert counts.shape == (24 * 35, 24)
    assert np.isnan(counts).mean() == pytest.approx(0.03, abs=0.005)
    assert (counts == 500).mean() == pytest.approx(0.005, abs=0.002)
    assert np.nanmax(counts[counts != 500]) < 400


def test_documents_have_a_new_subject_in_the_last_two_weeks(tmp_path):
    (path,) = sample("docs", tmp_path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    days = np.array([date.fromisoformat(r["date"]).toordinal() for r in records])
    assert (np.diff(days) >= 0).all()
    new = np.array([r["subject"] == "comet" for r in records])
    assert not new[days < days[-1] - 13].any()
    assert new[days >= days[-1] - 13].mean() == pytest.approx(0.12, abs=0.06)


def test_the_video_is_the_street_of_the_demonstration(tmp_path):
    av = pytest.importorskip("av")
    (path,) = sample("video", tmp_path)
    with av.open(path) as file:
        frames = np.array([f.to_ndarray(format="gray") for f in file.decode(video=0)])
    scene = make_surveillance_scene(3000, random_state=0)
    np.testing.assert_array_equal(frames, scene.frames[:150])


@pytest.mark.parametrize("spoil", [add_gaussian, poisson, lambda images: occlude(images, (4, 4))])
def test_noise_is_for_pixels_between_0_and_1(spoil):
    for value in (1.01, -0.01, np.nan):
        images = np.full((3, 16), 0.5)
        images[1, 2] = value
        with pytest.raises(ValueError, match="between 0 and 1"):
            spoil(images)
    with pytest.raises(ValueError, match="rows of pixels"):
        spoil(np.full(16, 0.5))
