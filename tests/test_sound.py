"""Sound taken apart: parts add up to the whole, and planted notes are found when they set in."""

import json
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

import thresher
from thresher import SoundSeparator
from thresher.cli import app
from thresher.datasets.samples.tune import BEAT, NOTES, RATE, TUNE, tune_file, tune_samples
from thresher.metrics import signal_to_distortion
from thresher.tasks.sound.onsets import onsets_of
from thresher.tasks.sound.spectrogram import Spectrogram, wiener


def separator(n_components=3, **parameters):
    given = {"window": 512, "random_state": 0, "verbose": 0, **parameters}
    return SoundSeparator(n_components, **given)


def tones(seconds=2.0, channels=1):
    """A low tone, and a high one that begins before it ends."""
    time = np.arange(round(RATE * seconds)) / RATE
    low = 0.5 * np.sin(2 * np.pi * 200 * time) * (time < 0.7 * seconds)
    high = 0.3 * np.sin(2 * np.pi * 1500 * time) * (time > 0.4 * seconds)
    both = np.stack([low, high])
    return both if channels == 1 else np.stack([both, 0.5 * both], axis=2)


# ------------------------------------------------------------------------------ the parts


@pytest.mark.parametrize("length", [1, 511, 4096, 5003])
def test_a_spectrogram_goes_back_to_its_sound(length):
    sound = np.random.default_rng(0).standard_normal((length, 2))
    gram = Spectrogram(512, RATE)
    spectra = gram.of(gram.padded(sound))
    assert spectra.shape[1] == gram.n_frames(length)
    again = gram.back(spectra)[:, gram.before :][:, :length]
    np.testing.assert_allclose(again.T, sound, atol=1e-12)


def test_shares_of_spectra_add_up_even_where_all_parts_are_silent():
    rng = np.random.default_rng(0)
    spectra = rng.standard_normal((1, 5, 4)) + 1j * rng.standard_normal((1, 5, 4))
    models = rng.random((3, 5, 4))
    models[:, 2] = 0
    np.testing.assert_allclose(wiener(spectra, models).sum(axis=0), spectra, rtol=1e-12)


def test_onsets_are_where_loudness_jumps():
    loudness = np.zeros((100, 2))
    loudness[20:, 0] = np.exp(-0.1 * np.arange(80))
    loudness[60:, 0] += 1
    loudness[40:50, 1] = 1
    found = onsets_of(loudness, 0.02 * np.arange(100))
    assert [(round(o.time, 2), o.part) for o in found] == [(0.4, 0), (0.8, 1), (1.2, 0)]


def test_signal_to_distortion():
    rng = np.random.default_rng(0)
    s = rng.standard_normal(1000)
    assert signal_to_distortion(s, s) == np.inf
    assert signal_to_distortion(s, 0 * s) == 0
    np.testing.assert_allclose(signal_to_distortion(s, 1.1 * s), 20)
    with pytest.raises(ValueError, match="one shape"):
        signal_to_distortion(s, s[1:])


# ------------------------------------------------------------------------------ separation


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("divergence", ["kl", "is"])
def test_parts_add_up_to_the_whole_and_are_the_sources(divergence, channels):
    sources = tones(channels=channels)
    mixture = sources.sum(axis=0)
    model = separator(2, divergence=divergence).fit(mixture, rate=RATE)
    found = model.separate(mixture, rate=RATE)
    np.testing.assert_allclose(found.parts.sum(axis=0), mixture, atol=1e-15)
    order = model.parts_.argmax(axis=1).argsort()
    for source, part in zip(sources, found.parts[order], strict=True):
        assert signal_to_distortion(source, part) > 15
    assert found.activations.shape == (len(found.times), 2)


def test_notes_of_a_tune_and_when_they_set_in():
    sound = tune_samples()
    model = separator(4, divergence="is", window=1024, n_starts=5).fit(sound, rate=RATE)
    peaks = model.frequencies_[model.parts_.argmax(axis=1)]
    bin_width = model.frequencies_[1]
    note_of = {
        k: note
        for k, peak in enumerate(peaks)
        for note in NOTES
        if abs(NOTES[note] - peak) < bin_width
    }
    assert set(note_of.values()) == set(NOTES)
    found = model.onsets(sound, rate=RATE)
    for beat, note in enumerate(TUNE):
        near = [o for o in found if abs(o.time - beat * BEAT) < 0.08]
        assert note in {note_of.get(o.part) for o in near}


def test_learned_parts_take_the_next_recording_apart():
    first, second = tones(), tones(1.0)
    known = np.concatenate(
        [separator(1).fit(source[source != 0], rate=RATE).parts_ for source in first]
    )
    model = separator(2, init=known, frozen_atoms=[0, 1]).fit(first.sum(axis=0), rate=RATE)
    np.testing.assert_allclose(model.parts_, known, rtol=1e-9)
    found = model.separate(second.sum(axis=0), rate=RATE).parts
    for source, part in zip(second, found, strict=True):
        assert signal_to_distortion(source, part) > 15


def test_whole_numbers_are_floats_and_blocks_are_steps():
    sound = tones().sum(axis=0)
    whole = np.rint(32768 * sound).astype(np.int16)
    model = separator(2).fit(whole, rate=RATE)
    found = model.separate(whole, rate=RATE).parts
    np.testing.assert_allclose(found.sum(axis=0), whole / 32768, atol=1e-15)
    online = separator(2)
    for block in np.array_split(sound, 4):
        online.partial_fit(block, rate=RATE)
    assert set(online.frequencies_[online.parts_.argmax(axis=1)].round(-2)) == {200, 1500}


def test_a_saved_separator_goes_on(tmp_path):
    sound = tones().sum(axis=0)
    model = separator(2).fit(sound, rate=RATE)
    thresher.save(model, tmp_path / "model")
    again = thresher.load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(sound[:4000], rate=RATE)
    np.testing.assert_array_equal(again.parts_, model.parts_)
    assert again.rate_ == RATE
    here, there = (one.separate(sound, rate=RATE).parts for one in (model, again))
    np.testing.assert_array_equal(there, here)


def test_files_in_and_out(tmp_path):
    pytest.importorskip("soundfile")
    path = Path(tmp_path) / "tune.wav"
    path.write_bytes(tune_file())
    model = separator(3).fit(path)
    assert model.rate_ == RATE
    files = model.separate(path, write=tmp_path)
    assert all(file.stat().st_size > 1000 for file in files)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [({"divergence": "l1"}, "divergence='l1'"), ({"window": 30}, "window=30")],
)
def test_parameters_that_cannot_work(parameters, told):
    with pytest.raises(ValueError, match=told):
        separator(2, **parameters).fit(np.ones(1000), rate=RATE)


def test_bad_sound_is_refused():
    model = separator(2).fit(tones().sum(axis=0), rate=RATE)
    sound = np.ones(5000)
    for bad, told in (
        ((np.full(5000, np.nan), RATE), "finite"),
        ((np.ones((3, 3, 3)), RATE), r"\(n,\)"),
        ((np.array(["a"]), RATE), "numbers"),
        ((sound, None), "rate="),
        ((sound, RATE + 1), "resample"),
    ):
        with pytest.raises(ValueError, match=told):
            model.separate(bad[0], rate=bad[1])
    with pytest.raises(ValueError, match="silent"):
        separator(2).fit(np.zeros(5000), rate=RATE)
    assert not model.separate(np.zeros(5000), rate=RATE).parts.any()


def test_the_command_writes_each_part_and_tells_when_it_sets_in(tmp_path):
    samples = np.rint(20_000 * tones().sum(axis=0)).astype("<i2")
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    line = ["sound", str(tmp_path / "a.wav"), str(tmp_path / "parts"), "--json"]
    done = CliRunner().invoke(app, [*line, "--n-components", "2", "--window", "512"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    np.testing.assert_allclose(sorted(answer["peaks"]), [200, 1500], atol=RATE / 512)
    parts = [soundfile.read(path)[0] for path in answer["parts"]]
    np.testing.assert_allclose(sum(parts), samples / 2**15, atol=1e-6)


def test_a_page_tells_onsets_and_the_lines_that_make_it(tmp_path):
    sound = tones().sum(axis=0)
    model = separator(2).fit(sound, rate=RATE)
    path = model.report(tmp_path / "page.html", sound, rate=RATE)
    page = path.read_text(encoding="utf-8")
    assert "fit(audio)" in page
    onsets = model.onsets(sound, rate=RATE)
    assert onsets
    assert all(f"{onset.time:.2f} s" in page for onset in onsets[:10])
