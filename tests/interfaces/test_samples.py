"""The small files to try commands on: each is what its line in the list says."""

import csv
import io
import json
import wave
import zlib
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from thresher.datasets.image_noise import add_gaussian, occlude, poisson
from thresher.datasets.samples import KINDS, sample_files
from thresher.datasets.surveillance import make_surveillance_scene


def rows_of(kind, name):
    return list(csv.reader(io.StringIO(sample_files(kind)[name].decode())))


def numbers(rows):
    return np.array([[float(cell or "nan") for cell in row] for row in rows])


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"video"}))
def test_samples_are_the_same_every_time(kind):
    assert sample_files(kind) == sample_files(kind)


def test_an_unknown_sample_is_refused():
    with pytest.raises(ValueError, match="no sample 'bees'; use one of table, docs, photo"):
        sample_files("bees")


def test_the_table_has_three_habits_counters_that_fail_and_gaps():
    head, *rows = rows_of("table", "table.csv")
    counts = numbers(rows)
    assert counts.shape == (24 * 35, 24)
    assert len(set(head)) == 24
    assert np.isnan(counts).mean() == pytest.approx(0.03, abs=0.005)
    assert (counts == 500).mean() == pytest.approx(0.005, abs=0.002)
    counts[counts == 500] = np.nan
    assert np.nanmax(counts) < 400
    days = counts.reshape(35, 24, 3, 8)  # by hour, habit and road
    weekdays = np.arange(35) % 7 < 5
    working, free = np.nanmean(days[weekdays], (0, 3)), np.nanmean(days[~weekdays], (0, 3))
    commute, leisure, students = working.T
    morning, evening = commute[:12].argmax(), 12 + commute[12:].argmax()
    assert (morning, evening) == (8, 17)
    assert commute[12] < commute[8] / 4
    assert leisure.argmax() in (14, 15, 16)
    assert (students[:16].argmax(), 16 + students[16:].argmax()) == (10, 22)
    assert 0.6 < students[22] / students[10] < 0.85
    assert free[8, 0] < commute[8] / 4  # nobody commutes on a free day,
    assert free[15, 1] > 2.5 * leisure[15]  # which is for leisure
    assert 0.5 < free[10, 2] / students[10] < 0.75
    assert commute[0] < 2 + commute[23]  # midnight follows eleven


def test_documents_have_a_sixth_subject_in_the_last_two_weeks():
    records = [json.loads(line) for line in sample_files("docs")["docs.jsonl"].splitlines()]
    dates = [date.fromisoformat(record["date"]) for record in records]
    first = date(2026, 3, 2)
    assert dates == [first + timedelta(days=day) for day in range(70) for _ in range(12)]
    new = [r["subject"] == "comet" for r in records]
    late = [day >= first + timedelta(days=56) for day in dates]
    assert not any(n and not at_end for n, at_end in zip(new, late, strict=True))
    assert sum(new) / sum(late) == pytest.approx(0.12, abs=0.06)
    about = dict.fromkeys(("council", "football", "weather", "kitchen", "music"), 0)
    for record in records:
        sentences = record["text"].removesuffix(".").split(". ")
        assert len(sentences) in (2, 3)
        if record["subject"] in about:
            about[record["subject"]] += 1
        words = ["comet", "meteor"]
        assert any(word in record["text"] for word in words) <= (record["subject"] == "comet")
    assert min(about.values()) > 0.8 * max(about.values())


def test_sensors_are_thermometers_every_quarter_of_an_hour():
    head, *rows = rows_of("sensors", "sensors.csv")
    assert head[0] == "time"
    times = [datetime.fromisoformat(row[0]) for row in rows]
    assert times == [datetime(2026, 3, 2) + timedelta(minutes=15 * n) for n in range(960)]
    values = numbers([row[1:] for row in rows])
    assert values.shape == (960, 8)
    assert np.isnan(values).mean() == pytest.approx(0.01, abs=0.003)
    seen = ~np.isnan(values)
    assert np.allclose(np.round(values[seen], 1), values[seen])
    assert values[seen].min() > -20
    assert values[seen].max() < 60
    cellar, greenhouse = values[:, 0], values[:, 7]
    assert np.nanstd(greenhouse) > 10 * np.nanstd(cellar)
    assert np.nanmean(cellar) < np.nanmin(np.nanmean(values[:, 1:4], axis=0))  # rooms are warm
    daily = np.nanmean(greenhouse.reshape(10, 96), axis=0)
    assert 11 <= daily.argmax() / 4 <= 15  # the sun is highest at noon
    night = daily[:16]
    assert np.ptp(night) < 0.2 * np.ptp(daily)  # and down at night


def test_the_photo_shows_a_lake_that_mirrors_the_land():
    pixels = np.asarray(Image.open(io.BytesIO(sample_files("photo")["photo.png"])), float)
    assert pixels.shape == (160, 240, 3)
    shore = int(0.62 * 160)
    land = pixels[shore - 40 : shore - 3]
    water = pixels[shore + 3 : shore + 40][::-1]
    alike = np.corrcoef(land[2:].ravel(), water[:-2].ravel())[0, 1]
    assert alike > 0.9
    assert water.mean() < land.mean()  # a lake is darker than what it shows
    sun = np.unravel_index(pixels.sum(axis=2).argmax(), (160, 240))
    assert np.hypot(sun[0] - 0.33 * 160, sun[1] - 0.68 * 240) < 14
    sky = pixels[:10].mean(axis=(0, 1))
    assert sky[2] > sky[1] > sky[0]  # blue above, and warm above the hills
    near_hills = pixels[45:50, :60].mean(axis=(0, 1))
    assert near_hills[0] > near_hills[2]
    assert 3 < np.std(pixels[:4, :60, 0] - pixels[:4, :60, 0].mean(axis=1, keepdims=True)) < 5


def test_photographs_are_one_lake_on_sixty_days_behind_dirt():
    files = sample_files("photographs")
    assert sorted(files) == [f"photographs/day-{day:02}.png" for day in range(1, 61)]
    days = np.array([np.asarray(Image.open(io.BytesIO(files[name]))) for name in sorted(files)])
    assert days.shape == (60, 48, 72)
    assert days.dtype == np.uint8
    assert (days > 250).mean() == pytest.approx(0.01, abs=0.005)  # specks
    black = days < 12
    assert 0.8 * 144 < np.median(black.sum(axis=(1, 2))) < 1.3 * 144  # a spot of 12 x 12
    for picture in black[:10]:
        rows, columns = np.flatnonzero(picture.any(1)), np.flatnonzero(picture.any(0))
        assert np.median(picture.sum(1)[picture.sum(1) > 6]) <= 13
        assert len(rows) >= 11
        assert len(columns) >= 11
    clean = np.where(black | (days > 250), np.nan, days.astype(float))
    typical = np.nanmedian(clean, axis=0)
    parts = [typical[:12], typical[22:29], typical[32:]]
    assert all(np.nanstd(part) > 5 for part in parts)
    # Sky, hills and lake have a brightness of their own each day.
    light = np.array([np.nanmedian(clean[:, rows], (1, 2)) for rows in (slice(12), slice(32, 48))])
    assert abs(np.corrcoef(light)[0, 1]) < 0.4
    assert light[0].max() / light[0].min() > 2


def test_the_video_is_the_street_of_the_demonstration():
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(sample_files("video")["street.avi"])) as file:
        assert file.streams.video[0].average_rate == 25
        frames = np.array([f.to_ndarray(format="gray") for f in file.decode(video=0)])
    scene = make_surveillance_scene(3000, random_state=0)
    np.testing.assert_array_equal(frames, scene.frames[:150])


@pytest.mark.parametrize("spoil", [add_gaussian, poisson, lambda images: occlude(images, (4, 4))])
def test_pixels_beyond_0_and_1_are_refused(spoil):
    images = np.full((3, 16), 0.5)
    for value in (1.01, -0.01, np.nan):
        wrong = images.copy()
        wrong[1, 2] = value
        with pytest.raises(ValueError, match="between 0 and 1"):
            spoil(wrong)
    with pytest.raises(ValueError, match="rows of pixels"):
        spoil(images[0])


SAMPLES = Path(__file__).parent / "data" / "samples.npz"


def values_of(kind):
    """The numbers of a sample; of documents and ratings, a checksum of each."""
    files = sample_files(kind)
    content = files[sorted(files)[0]]
    if kind in ("docs", "ratings"):
        return np.array([zlib.crc32(line) for line in content.splitlines()], dtype=float)
    if kind in ("table", "sensors"):
        _, *rows = rows_of(kind, sorted(files)[0])
        return numbers([row[kind == "sensors" :] for row in rows])
    if kind == "scene":
        return np.load(io.BytesIO(content)).astype(float)
    if kind == "tune":
        with wave.open(io.BytesIO(content)) as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 1, 2)
            return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(float)
    return np.array([np.asarray(Image.open(io.BytesIO(files[n]))) for n in sorted(files)], float)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"video"}))
def test_samples_are_the_same_everywhere(kind):
    """Lines of the documentation tell what commands find in them: they may not change silently.

    ``tests/data/samples.npz`` has some hundred of their numbers, at equal distances.
    """
    values = values_of(kind).ravel()
    kept = np.load(SAMPLES)
    assert values.size == kept[f"{kind} size"]
    unit = 1.0 if kind in ("photo", "photographs", "tune") else 1e-6 * np.nanmax(np.abs(values))
    np.testing.assert_allclose(values[:: values.size // 300], kept[kind], atol=unit)
