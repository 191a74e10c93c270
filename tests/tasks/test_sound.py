"""SoundSeparator: components add up to the recording, and planted sounds are found."""

import itertools
import json
import tracemalloc

import numpy as np
import pytest
import soundfile
from scipy.signal import istft, stft
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import thresher
from thresher import SoundSeparator
from thresher.cli import app
from thresher.metrics import signal_to_distortion

RATE = 8000
NOTES = (261.6, 293.7, 329.6)
TUNE = (2, 1, 0, 1, 2, 2)
every_divergence = pytest.mark.parametrize("divergence", ["kl", "is"])


def separator(n_components=2, **parameters):
    given = {"window": 512, "random_state": 0, "verbose": 0, **parameters}
    return SoundSeparator(n_components, **given)


def tones(seconds=2.0, channels=1):
    """A low tone, and a high one that begins before it ends."""
    time = np.arange(round(RATE * seconds)) / RATE
    low = 0.5 * np.sin(2 * np.pi * 200 * time) * (time < 0.7 * seconds)
    high = 0.3 * np.sin(2 * np.pi * 1500 * time) * (time > 0.4 * seconds)
    both = np.stack([low, high])
    return both if channels == 1 else np.stack([both, 0.5 * both], axis=2)


def plucked_notes():
    """Three notes, one every half second, with the noise of the plucking."""
    rng = np.random.default_rng(0)
    time = np.arange(RATE // 2) / RATE
    pluck = np.exp(-120 * time) * rng.standard_normal((len(TUNE), len(time)))
    harmonics = np.arange(1, 7)[:, None]
    notes = []
    for note, noise in zip(TUNE, pluck, strict=True):
        waves = np.sin(2 * np.pi * harmonics * NOTES[note] * time) / harmonics**1.5
        notes.append(waves.sum(axis=0) * np.exp(-2 * time) + 0.5 * noise)
    sound = np.concatenate(notes)
    return sound / np.abs(sound).max()


def drums(seed, bars=2):
    """Kick, snare and hi-hat: a tone that falls, two tones with noise, and high noise."""
    rng = np.random.default_rng(seed)
    time, step = np.arange(RATE // 2) / RATE, round(0.13 * RATE)
    fall = rng.uniform(15, 40)
    turns = 50 * time + rng.uniform(80, 200) * (1 - np.exp(-fall * time)) / fall
    kick = np.sin(2 * np.pi * turns) * np.exp(-rng.uniform(6, 14) * time)
    body = np.sin(2 * np.pi * rng.uniform([160, 300], [220, 400])[:, None] * time).sum(axis=0)
    sources = np.zeros((3, 16 * bars * step + len(time)))
    for drum, beats in enumerate([range(0, 16, 4), (4, 12), range(0, 16, 2)]):
        for beat in (16 * bar + beat for bar in range(bars) for beat in beats):
            noise = np.diff(rng.standard_normal(len(time) + 3), 1 if drum == 1 else 3)
            noise = noise[: len(time)]
            snare = 0.5 * body * np.exp(-25 * time) + 0.6 * noise * np.exp(-18 * time)
            stroke = (kick, snare, 0.2 * noise * np.exp(-50 * time))[drum]
            sources[drum, beat * step :][: len(time)] += rng.uniform(0.6, 1) * stroke
    return sources / np.abs(sources.sum(axis=0)).max()


def quality(sources, parts):
    """The mean signal-to-distortion ratio in decibels, under the best order of the parts."""
    orders = itertools.permutations(parts)
    return max(np.mean(list(map(signal_to_distortion, sources, order))) for order in orders)


def nmf_parts(sound, n_components, window):
    """The baseline: scikit-learn's NMF of the magnitudes, and Wiener's filter."""
    hops = {"nperseg": window, "noverlap": 3 * window // 4}
    spectra = stft(sound, **hops)[2]
    model = NMF(n_components, init="nndsvda", solver="mu", beta_loss=1, max_iter=200, tol=1e-3)
    with threadpool_limits(1):
        codes = model.fit_transform(np.abs(spectra))
    models = np.einsum("fk,kt->kft", codes, model.components_)
    masks = models / np.maximum(models.sum(axis=0), 1e-12)
    return np.stack([istft(spectra * mask, **hops)[1][: len(sound)] for mask in masks])


def cut(sound, seed=0):
    """Blocks of all lengths, the first of one sample."""
    places = np.sort(np.random.default_rng(seed).integers(2, len(sound), 9))
    return np.split(sound, [1, *np.unique(places)])


def joined(pieces):
    parts, activations, times = zip(*pieces, strict=True)
    return np.concatenate(parts, axis=1), np.concatenate(activations), np.concatenate(times)


# ------------------------------------------------------------------- planted sounds


@every_divergence
@pytest.mark.parametrize("channels", [1, 2])
def test_components_add_up_to_the_recording_and_are_the_sources(divergence, channels):
    sources = tones(channels=channels)
    mixture = sources.sum(axis=0)
    before = mixture.copy()
    model = separator(divergence=divergence).fit(mixture, rate=RATE)
    found = model.separate(mixture, rate=RATE)
    np.testing.assert_allclose(found.parts.sum(axis=0), mixture, atol=1e-14)
    assert quality(sources, found.parts) > 15
    assert found.activations.shape == (len(found.times), 2)
    np.testing.assert_allclose(np.sort(model.peaks_), [200, 1500], atol=RATE / 512)
    assert model.frequencies_[-1] == RATE / 2
    np.testing.assert_array_equal(mixture, before)


def test_notes_and_their_onsets_are_found():
    sound = plucked_notes()
    model = separator(4, divergence="is", window=1024, n_starts=5).fit(sound, rate=RATE)
    bin_width = model.frequencies_[1]
    note_of = {
        k: note
        for k, peak in enumerate(model.peaks_)
        for note, frequency in enumerate(NOTES)
        if abs(frequency - peak) < bin_width
    }
    assert set(note_of.values()) == {0, 1, 2}
    onsets = model.onsets(sound, rate=RATE)
    assert [onset.time for onset in onsets] == sorted(onset.time for onset in onsets)
    for beat, note in enumerate(TUNE):
        near = [onset for onset in onsets if abs(onset.time - 0.5 * beat) < 0.08]
        assert note in {note_of.get(onset.part) for onset in near}
    silences = [onset for onset in onsets if 0.15 < onset.time % 0.5 < 0.4]
    assert len(silences) <= 2


def test_drums_are_separated_better_by_components_of_several_frames_than_by_nmf():
    several, baselines = [], []
    for seed in (1, 2):
        sources = drums(seed, bars=1)
        mixture = sources.sum(axis=0)
        model = separator(3, n_frames=8, n_starts=5).fit(mixture, rate=RATE)
        several.append(quality(sources, model.separate(mixture, rate=RATE).parts))
        baselines.append(quality(sources, nmf_parts(mixture, 3, 512)))
    assert np.mean(several) > np.mean(baselines) + 1


@pytest.mark.parametrize("n_frames", [1, 6])
def test_known_components_stay_and_separate_the_next_recording(n_frames):
    sources = drums(4)
    first, second = np.split(sources[:, : sources.shape[1] // 2 * 2], 2, axis=1)
    alone = [separator(1, n_frames=n_frames).fit(drum, rate=RATE).parts_ for drum in first]
    known = np.concatenate(alone)
    model = separator(3, n_frames=n_frames, init=known, frozen_atoms=[0, 1, 2])
    model.fit(first.sum(axis=0), rate=RATE).partial_fit(second.sum(axis=0), rate=RATE)
    np.testing.assert_array_equal(model.parts_, known)
    found = model.separate(second.sum(axis=0), rate=RATE).parts
    assert np.mean(list(map(signal_to_distortion, second, found))) > 1
    partly = separator(3, n_frames=n_frames, init=known, frozen_atoms=[1])
    partly.fit(first.sum(axis=0), rate=RATE)
    np.testing.assert_array_equal(partly.parts_[1], known[1])
    assert (partly.parts_[[0, 2]] != known[[0, 2]]).any()


def test_onsets_are_strokes_even_if_components_last_several_frames():
    rng = np.random.default_rng(0)
    silence, time = np.zeros(RATE // 2), np.arange(RATE // 2) / RATE
    stroke = rng.standard_normal(len(time)) * np.exp(-15 * time)
    sound = np.concatenate([silence, stroke, silence, stroke, silence])
    model = separator(1, n_frames=8).fit(sound, rate=RATE)
    times = [onset.time for onset in model.onsets(sound, rate=RATE) if onset.rise > 0.5]
    np.testing.assert_allclose(times, [0.5, 1.5], atol=0.05)


# ------------------------------------------------------------------- units and types


@every_divergence
def test_components_do_not_depend_on_the_unit(divergence):
    sound = tones(1.0).sum(axis=0)
    model = separator(divergence=divergence, n_frames=2).fit(sound, rate=RATE)
    here = model.separate(sound, rate=RATE).parts
    for unit in (1e-20, 1e20):
        there = model.separate(unit * sound, rate=RATE).parts
        np.testing.assert_allclose(there / unit, here, atol=1e-6)
        learned = separator(divergence=divergence, n_frames=2).fit(unit * sound, rate=RATE)
        np.testing.assert_allclose(learned.parts_, model.parts_, atol=1e-4)


@pytest.mark.parametrize(
    ("dtype", "scale", "offset"),
    [(np.int16, 2**15, 0), (np.uint8, 128, 128), (np.float32, 1, 0)],
)
def test_types_of_samples(dtype, scale, offset):
    sound = tones(1.0).sum(axis=0)
    given = scale * sound + offset
    given = given.astype(dtype) if dtype == np.float32 else np.rint(given).astype(dtype)
    model = separator().fit(given, rate=RATE)
    parts = model.separate(given, rate=RATE).parts
    expected = (given.astype(float) - offset) / scale
    np.testing.assert_allclose(parts.sum(axis=0), expected, atol=1e-7)
    assert quality(tones(1.0), parts) > 12


# ------------------------------------------------------------------- online


def test_components_are_learned_online_saved_and_continued_with_the_same_bits(tmp_path):
    sound = tones().sum(axis=0)
    for parameters in ({}, {"n_frames": 4, "divergence": "is"}):
        model = separator(**parameters)
        for block in np.array_split(sound, 4)[:3]:
            model.partial_fit(block, rate=RATE)
        thresher.save(model, tmp_path / "model")
        loaded = thresher.load(tmp_path / "model")
        for one in (model, loaded):
            one.partial_fit(sound[-4000:], rate=RATE)
        np.testing.assert_array_equal(loaded.parts_, model.parts_)
        here, there = (one.separate(sound, rate=RATE) for one in (model, loaded))
        np.testing.assert_array_equal(there.parts, here.parts)
    assert set(separator().fit(sound, rate=RATE).peaks_.round(-2)) == {200, 1500}


@pytest.mark.parametrize("n_frames", [1, 5])
@pytest.mark.parametrize("channels", [None, 2])
def test_blocks_give_what_the_whole_gives(n_frames, channels):
    sound = plucked_notes()
    if channels:
        sound = np.stack([sound, 0.3 * np.roll(sound, 9)], axis=1)
    model = separator(n_frames=n_frames, window=128).fit(sound, rate=RATE)
    whole = model.separate(sound, rate=RATE)
    pieces = model.separate(lambda: cut(sound), rate=RATE)
    for _ in range(2):  # a stream that can be read again is
        for here, there in zip(joined(pieces), whole, strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-12, atol=1e-14)
    codes = np.concatenate(list(model.transform(lambda: cut(sound), rate=RATE)))
    np.testing.assert_array_equal(codes, model.transform(sound, rate=RATE))
    assert model.onsets(iter(cut(sound)), rate=RATE) == model.onsets(sound, rate=RATE)


@pytest.mark.parametrize("n_frames", [1, 3])
def test_a_long_stream_is_learned_from_to_its_end(n_frames):
    """Longer than the 8192 windows that are learned from at once."""
    time = np.arange(10 * RATE) / RATE
    early = np.sin(2 * np.pi * 3500 * time) * (time % 0.5 < 0.25) * (time < 4.2)
    late = np.sin(2 * np.pi * 2000 * time) * (time % 0.5 > 0.25) * (time > 4.2)
    hum = np.sin(2 * np.pi * 500 * time)
    model = separator(n_frames=n_frames, window=16)
    model.fit(iter(cut(early + late + hum)), rate=RATE)
    assert sorted(model.peaks_) == [500, 2000]


def test_memory_does_not_grow_with_the_recording():
    model = separator(window=128).fit(tones(1.0).sum(axis=0), rate=RATE)
    noise = np.random.default_rng(0).standard_normal(RATE)

    def peak(seconds):
        tracemalloc.start()
        for _ in model.separate((noise for _ in range(seconds)), rate=RATE):
            pass
        largest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return largest

    peak(2)
    assert peak(24) < 1.2 * peak(8)


def test_silence_teaches_nothing_and_stays_silent():
    sound = tones().sum(axis=0)
    model = separator().fit(sound, rate=RATE)
    parts = model.parts_.copy()
    model.partial_fit(np.zeros(RATE), rate=RATE)
    np.testing.assert_array_equal(model.parts_, parts)
    assert not model.separate(np.zeros(5000), rate=RATE).parts.any()
    blocks = [sound, np.zeros(3 * RATE), sound]
    found = joined(model.separate(iter(blocks), rate=RATE))[0]
    np.testing.assert_allclose(found.sum(axis=0), np.concatenate(blocks), atol=1e-14)


# ------------------------------------------------------------------- files


def test_files_are_read_and_written_while_they_are_separated(tmp_path):
    sound = 0.6 * np.stack([plucked_notes(), 1.5 * plucked_notes()[::-1]], axis=1)
    path = tmp_path / "tune.flac"
    soundfile.write(path, sound, RATE, subtype="PCM_16")
    source = thresher.open(path)
    model = separator().fit(source)
    assert model.rate_ == RATE
    files = model.separate(source, write=tmp_path / "parts")
    assert [file.name for file in files] == ["part0.wav", "part1.wav"]
    total = sum(soundfile.read(file)[0] for file in files)
    np.testing.assert_allclose(total, sound, atol=1e-4)
    np.testing.assert_allclose(joined(model.separate(source))[0], model.separate(path).parts)
    with pytest.raises(ValueError, match="is being read"):
        model.separate(thresher.open(files[0]), write=tmp_path / "parts")

    def broken():
        yield sound
        raise OSError("the wire was cut")

    with pytest.raises(OSError, match="wire"):
        model.separate(broken, rate=RATE, write=tmp_path / "others")
    assert not list((tmp_path / "others").iterdir())
    (tmp_path / "bad.wav").write_bytes(b"no sound")
    with pytest.raises(ValueError, match="cannot be read"):
        thresher.open(tmp_path / "bad.wav")


def test_several_files_are_one_recording(tmp_path):
    sound = plucked_notes()
    for number, piece in enumerate(np.array_split(sound, 3)):
        soundfile.write(tmp_path / f"piece{number}.wav", piece, RATE, subtype="DOUBLE")
    source = thresher.open(tmp_path / "piece*.wav")
    model = separator().fit(source)
    parts = joined(model.separate(source))[0]
    np.testing.assert_allclose(parts, model.separate(sound, rate=RATE).parts, atol=1e-12)
    soundfile.write(tmp_path / "piece3.wav", sound, 2 * RATE)
    with pytest.raises(ValueError, match="16000"):
        thresher.open(tmp_path / "piece*.wav")


def test_the_command_writes_each_component(tmp_path):
    sound = tones().sum(axis=0)
    soundfile.write(tmp_path / "a.wav", sound, RATE, subtype="PCM_16")
    line = ["sound", str(tmp_path / "a.wav"), str(tmp_path / "parts"), "--json"]
    done = CliRunner().invoke(app, [*line, "--n-components", "2", "--window", "512"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    np.testing.assert_allclose(sorted(answer["peaks"]), [200, 1500], atol=RATE / 512)
    parts = [soundfile.read(path)[0] for path in answer["parts"]]
    np.testing.assert_allclose(sum(parts), sound, atol=1e-4)


# ------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"divergence": "l1"}, "divergence"),
        *(({"window": window}, "window") for window in (12, 18, 30, 64.0, "long")),
        ({"n_frames": 0}, "n_frames"),
        ({"init": np.ones((2, 257)), "n_frames": 2}, "init"),
        ({"init": -np.ones((2, 257))}, "init"),
        ({"frozen_atoms": [0]}, "init"),
        ({"init": np.ones((2, 257)), "frozen_atoms": [2]}, "frozen_atoms"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        separator(**parameters).fit(np.ones(5000), rate=RATE)


@pytest.mark.parametrize(
    ("audio", "rate", "keyword"),
    [
        (np.full(5000, np.nan), RATE, "finite"),
        (np.ones((3, 3, 3)), RATE, "array"),
        (np.zeros(0), RATE, "array"),
        (np.array(["a"]), RATE, "numbers"),
        (np.ones(5000), None, "rate"),
        (np.ones(5000), RATE + 1, "resample"),
        *((np.ones(5000), rate, "rate") for rate in (0, 0.5, -1, "fast", True)),
        ([np.ones((50, 2)), np.ones((50, 1))], RATE, "channels"),
        ([], RATE, "no samples"),
        ("no_such_file.wav", None, "no_such_file"),
    ],
    ids=str,
)
def test_what_is_no_recording_is_refused(audio, rate, keyword):
    model = separator().fit(tones(0.5).sum(axis=0), rate=RATE)
    parts = model.parts_.copy()
    given = iter(audio) if isinstance(audio, list) else audio
    for verb in (model.separate, model.partial_fit):
        with pytest.raises((ValueError, FileNotFoundError), match=keyword):
            list(verb(given, rate=rate))
        given = iter(audio) if isinstance(audio, list) else audio
    np.testing.assert_array_equal(model.parts_, parts)


def test_silence_unfitted_models_and_streams_that_have_ended_are_refused(tmp_path):
    with pytest.raises(ValueError, match="silent"):
        separator().fit(np.zeros(5000), rate=RATE)
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(separator(), tmp_path / "model")
    sound = tones(0.5).sum(axis=0)
    model = separator().fit(sound, rate=RATE)
    once = model.separate(iter(cut(sound)), rate=RATE)
    list(once)
    with pytest.raises(ValueError, match="only once"):
        list(once)
