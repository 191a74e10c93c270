"""Recordings of any length: what comes of blocks is what comes of the whole."""

import tracemalloc

import numpy as np
import pytest

import thresher
from thresher import SoundSeparator
from thresher.datasets.samples.tune import RATE, tune_samples
from thresher.tasks.sound import separator as module


def separator(n_components=2, **parameters):
    given = {"window": 128, "random_state": 0, "verbose": 0, **parameters}
    return SoundSeparator(n_components, **given)


def cut(sound, seed=0):
    """Blocks of all lengths, the first of one sample."""
    places = np.sort(np.random.default_rng(seed).integers(2, len(sound), 9))
    return np.split(sound, [1, *np.unique(places)])


def joined(pieces):
    parts, codes, times = zip(*pieces, strict=True)
    return np.concatenate(parts, axis=1), np.concatenate(codes), np.concatenate(times)


@pytest.mark.parametrize("n_frames", [1, 5])
@pytest.mark.parametrize("channels", [None, 2])
def test_blocks_give_what_the_whole_gives(n_frames, channels):
    sound = tune_samples()
    if channels:
        sound = np.stack([sound, 0.3 * np.roll(sound, 9)], axis=1)
    model = separator(n_frames=n_frames).fit(sound, rate=RATE)
    whole = model.separate(sound, rate=RATE)
    pieces = model.separate(lambda: cut(sound), rate=RATE)
    for _ in range(2):  # a stream that can be read again is
        for here, there in zip(joined(pieces), whole, strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(whole.parts.sum(axis=0), sound, atol=1e-15)
    codes = np.concatenate(list(model.transform(lambda: cut(sound), rate=RATE)))
    np.testing.assert_array_equal(codes, model.transform(sound, rate=RATE))
    assert model.onsets(iter(cut(sound)), rate=RATE) == model.onsets(sound, rate=RATE)


def test_parts_do_not_depend_on_how_loud_a_recording_is():
    sound = tune_samples()
    for divergence in ("kl", "is"):
        model = separator(divergence=divergence, n_frames=2).fit(sound, rate=RATE)
        loud = model.separate(sound, rate=RATE).parts
        soft = model.separate(2.0**-60 * sound, rate=RATE).parts
        np.testing.assert_allclose(2.0**60 * soft, loud, atol=1e-9)


def test_memory_does_not_grow_with_the_recording():
    model = separator().fit(tune_samples(), rate=RATE)
    noise = np.random.default_rng(0).standard_normal(RATE)

    def peak(seconds):
        tracemalloc.start()
        for _ in model.separate((noise for _ in range(seconds)), rate=RATE):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)
    assert peak(40) < 1.2 * peak(8)


@pytest.mark.parametrize("n_frames", [1, 3])
def test_a_long_stream_is_learned_from_to_its_end(n_frames, monkeypatch):
    monkeypatch.setattr(module, "_FIRST", 100)
    time = np.arange(8 * RATE) / RATE
    early = np.sin(2 * np.pi * 500 * time) * (time % 0.5 < 0.25) * (time < 3)
    late = np.sin(2 * np.pi * 2000 * time) * (time % 0.5 > 0.25) * (time > 3)
    hum = np.sin(2 * np.pi * 1000 * time)
    model = separator(n_frames=n_frames).fit(iter(cut(early + late + hum)), rate=RATE)
    assert set(model.peaks_.round(-2)) == {1000, 2000}


def test_files_are_read_and_written_while_they_are_taken_apart(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    sound = np.stack([tune_samples(), 1.5 * tune_samples()[::-1]], axis=1)
    path = tmp_path / "tune.flac"
    soundfile.write(path, 0.6 * sound, RATE, subtype="PCM_16")
    source = thresher.open(path)
    assert (source.n_samples, source.n_features) == sound.shape
    np.testing.assert_allclose(source.rows(0, 500, 600), 0.6 * sound[500:600], atol=1e-4)
    model = separator().fit(source)
    files = model.separate(source, write=tmp_path / "parts")
    assert [file.name for file in files] == ["part0.wav", "part1.wav"]
    total = sum(soundfile.read(file)[0] for file in files)
    np.testing.assert_allclose(total, source.load(), atol=1e-6)
    np.testing.assert_allclose(joined(model.separate(source))[0], model.separate(path).parts)

    def broken():
        yield sound
        raise OSError("the wire was cut")

    with pytest.raises(OSError, match="wire"):
        model.separate(broken, rate=RATE, write=tmp_path / "others")
    assert not list((tmp_path / "others").iterdir())
    (tmp_path / "bad.wav").write_bytes(b"no sound")
    with pytest.raises(ValueError, match="cannot be read as sound"):
        thresher.open(tmp_path / "bad.wav")
    with pytest.raises(ValueError, match="is being read"):
        model.separate(thresher.open(files[0]), write=tmp_path / "parts")


def test_files_in_a_row_are_one_recording(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    sound = tune_samples()
    for number, piece in enumerate(np.array_split(sound, 3)):
        soundfile.write(tmp_path / f"piece{number}.wav", piece, RATE, subtype="DOUBLE")
    source = thresher.open(tmp_path / "piece*.wav")
    model = separator().fit(source)
    found = joined(model.separate(source))[0]
    np.testing.assert_allclose(found, model.separate(sound, rate=RATE).parts, atol=1e-14)
    soundfile.write(tmp_path / "piece3.wav", sound, 2 * RATE)
    with pytest.raises(ValueError, match="16000 samples in a second"):
        thresher.open(tmp_path / "piece*.wav")


def test_whole_numbers_without_a_sign_are_silent_in_the_middle():
    sound = tune_samples()
    model = separator().fit(sound, rate=RATE)
    whole = np.rint(127 * sound + 128).astype(np.uint8)
    found = model.separate(whole, rate=RATE).parts.sum(axis=0)
    np.testing.assert_allclose(found, sound, atol=0.02)


def test_silence_in_a_stream_is_no_news():
    sound = tune_samples()
    model = separator().fit(sound, rate=RATE)
    parts = model.parts_.copy()
    model.partial_fit(np.zeros(RATE), rate=RATE)
    np.testing.assert_array_equal(model.parts_, parts)
    blocks = [sound, np.zeros(3 * RATE), sound]
    found = joined(model.separate(iter(blocks), rate=RATE))[0]
    np.testing.assert_allclose(found.sum(axis=0), np.concatenate(blocks), atol=1e-15)


def test_streams_that_cannot_be_a_recording():
    model = separator().fit(tune_samples(), rate=RATE)
    uneven = [np.ones((50, 2)), np.ones((50, 1))]
    for blocks, rate, told in (
        (iter([]), RATE, "no samples"),
        (iter(uneven), RATE, "same channels"),
        (iter([np.ones(9)]), None, "rate="),
        (iter([np.ones(9)]), -5, "rate=-5"),
    ):
        with pytest.raises(ValueError, match=told):
            list(model.separate(blocks, rate=rate))
    once = model.separate(iter(cut(tune_samples())), rate=RATE)
    list(once)
    with pytest.raises(ValueError, match="only once"):
        list(once)
