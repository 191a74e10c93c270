"""Steps of the sound separator by themselves: spectra, stretches, onsets, steps of learning."""

import numpy as np
import pytest
from scipy.signal import get_window

import thresher
from thresher import SoundSeparator
from thresher.tasks.sound import patterns, stretches
from thresher.tasks.sound.audio import Audio, Recording, audio_of, recording_of
from thresher.tasks.sound.convolutive import divergence_of, model_of, slopes_of_parts
from thresher.tasks.sound.onsets import onsets_of
from thresher.tasks.sound.part_files import part_files
from thresher.tasks.sound.patterns import ConvolutiveNMF, first_guess
from thresher.tasks.sound.spectrogram import Spectrogram, sizes, wiener

RNG = np.random.default_rng(0)


# ------------------------------------------------------------------------ spectra


def test_spectra_are_those_of_hann_windows_a_quarter_apart():
    gram, sound = Spectrogram(16, 100), RNG.normal(size=(50, 2))
    assert (gram.hop, gram.before) == (4, 12)
    padded = gram.padded(sound)
    np.testing.assert_array_equal(padded[12:62], sound)
    assert not padded[:12].any()
    assert not padded[62:].any()
    found = gram.of(padded)
    assert found.shape == (2, gram.n_frames(50), 9)
    window = get_window("hann", 16)
    for frame in range(gram.n_frames(50)):
        expected = np.fft.rfft(padded[4 * frame : 4 * frame + 16, 1] * window)
        np.testing.assert_allclose(found[1, frame], expected, atol=1e-12)


@pytest.mark.parametrize(("n", "frames"), [(1, 4), (4, 4), (5, 5), (8, 5), (9, 6)])
def test_every_sample_is_in_four_windows(n, frames):
    gram = Spectrogram(16, 100)
    assert gram.n_frames(n) == frames
    assert gram.n_samples(frames) >= n > gram.n_samples(frames - 1)


def test_the_time_of_a_window_is_its_middle():
    gram = Spectrogram(16, 100)
    # The first window begins twelve samples before the recording, so its middle is at -4.
    np.testing.assert_allclose(gram.times(0, 3), [-0.04, 0.0, 0.04])
    np.testing.assert_allclose(gram.times(5, 2), [0.16, 0.2])


def test_sizes_are_over_all_channels():
    spectra = np.array([[[3 + 4j]], [[0 + 1j]]])
    assert sizes(spectra, 2)[0, 0] == pytest.approx(13)
    assert sizes(spectra, 1)[0, 0] == pytest.approx(np.sqrt(13))


def test_parts_share_a_spectrum_by_what_they_say_of_it():
    spectra = np.array([[[2 + 2j, 4.0, 6.0]]])
    models = np.array([[[1.0, 0.0, 0.0]], [[3.0, 5.0, 0.0]]])
    found = wiener(spectra, models)
    np.testing.assert_allclose(found[0, 0, 0], [0.5 + 0.5j, 0, 3])
    np.testing.assert_allclose(found[1, 0, 0], [1.5 + 1.5j, 4, 3])


# ------------------------------------------------------------------------ onsets


def test_an_onset_is_a_rise_of_a_fifth_and_apart_from_the_last():
    loudness = np.zeros((60, 3))
    loudness[0:, 0] += 1.0  # sounds at once
    loudness[20:, 0] += 0.19
    loudness[40:, 0] += 0.21
    loudness[10:, 1] += 0.8
    loudness[12:, 1] += 1.0  # 0.02 s later, which is no stroke of its own
    found = onsets_of(loudness, 0.01 * np.arange(60))
    assert [(round(o.time, 2), o.part) for o in found] == [(0.0, 0), (0.12, 1), (0.4, 0)]
    assert found[0].rise == 1
    assert found[2].rise == pytest.approx(0.21)
    assert [o.part for o in onsets_of(np.ones((1, 2)), np.zeros(1))] == [0, 1]


# ------------------------------------------------------------------------ recordings


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([-128, 0, 64], np.int8), [-1, 0, 0.5]),
        (np.array([0, 128, 192], np.uint8), [-1, 0, 0.5]),
        (np.array([-32768, 16384], np.int16), [-1, 0.5]),
        (np.array([0.25, 2.0], np.float32), [0.25, 2.0]),
    ],
)
def test_whole_numbers_are_between_minus_one_and_one(values, expected):
    found = audio_of(values)
    assert found.mono
    assert found.samples.shape == (len(values), 1)
    assert found.samples.dtype == np.float64
    np.testing.assert_allclose(found.samples[:, 0], expected)
    both = audio_of(np.stack([values, values], axis=1))
    assert not both.mono
    assert both.samples.shape == (len(values), 2)


@pytest.mark.parametrize("given", [np.zeros(0), np.zeros((2, 2, 2)), np.array(["a"]), 5.0])
def test_what_is_no_sound(given):
    with pytest.raises(ValueError, match="Sound is an array of numbers"):
        audio_of(given)
    with pytest.raises(ValueError, match="no finite numbers"):
        audio_of(np.array([1.0, np.inf]))


def test_a_recording_needs_its_rate():
    sound = np.zeros(10)
    with pytest.raises(ValueError, match="Give rate="):
        recording_of(sound, None)
    for rate in (0, 0.5, -1, "fast", True):
        with pytest.raises(ValueError, match="positive number of samples"):
            recording_of(sound, rate)
    assert recording_of(sound, 1).rate == 1
    given = recording_of(sound, 8000.0)
    assert (given.rate, given.whole, given.n_samples, given.paths) == (8000, True, 10, ())
    stream = recording_of(iter([sound, sound]), 8000)
    assert not stream.whole
    assert [len(block.samples) for block in stream] == [10, 10]
    with pytest.raises(FileNotFoundError, match="slip in its name"):
        recording_of("no_such_file.wav", None)


def test_blocks_of_a_recording_have_the_same_channels():
    blocks = recording_of(iter([np.zeros((4, 2)), np.zeros((4, 1))]), 100)
    with pytest.raises(ValueError, match="same"):
        list(blocks)


def test_parts_have_files_of_their_own(tmp_path):
    assert [path.name for path in part_files(tmp_path, 3)] == [
        "part0.wav",
        "part1.wav",
        "part2.wav",
    ]


# ------------------------------------------------------------------------ stretches


@pytest.mark.parametrize(("n_frames", "length"), [(1, 128), (16, 128), (17, 136), (40, 320)])
def test_a_stretch_has_room_for_parts(n_frames, length):
    assert stretches.stretch_length(n_frames) == length


@pytest.mark.parametrize("cuts", [[], [1], [600], [511, 512, 513], [100, 1200]])
@pytest.mark.parametrize("n", [1, 500, 512, 524, 1500])
def test_stretches_lie_at_the_same_places_however_a_recording_is_cut(n, cuts):
    gram, sound = Spectrogram(16, 100), np.random.default_rng(n).normal(size=(n, 1))
    blocks = [Audio(piece, True) for piece in np.split(sound, [c for c in cuts if c < n])]
    found = list(stretches.stretches(blocks, gram, 1, 2))
    whole = gram.of(gram.padded(sound))
    spectra = np.concatenate([piece.spectra for piece in found], axis=1)
    np.testing.assert_allclose(spectra, whole, atol=1e-12)
    assert [piece.first for piece in found] == [128 * k for k in range(len(found))]
    np.testing.assert_allclose(np.concatenate([piece.values for piece in found]), sizes(whole, 2))
    heard = np.concatenate([piece.samples for piece in found])
    np.testing.assert_array_equal(heard[12 : 12 + n], sound)
    assert len(heard) == 12 + n


def test_a_recording_without_samples():
    with pytest.raises(ValueError, match="no samples"):
        list(stretches.stretches([], Spectrogram(16, 100), 1, 2))


def made_pieces(values):
    return [stretches.Stretch(128 * k, None, True, None, one) for k, one in enumerate(values)]


def test_parts_that_last_are_coded_with_some_windows_of_the_neighbours():
    values = [np.full((10, 1), 1.0), np.full((10, 1), 2.0), np.full((6, 1), 3.0)]
    heard = []

    def code(given):
        heard.append(given[:, 0].tolist())
        return given

    found = list(stretches.coded(made_pieces(values), code, 2))
    assert heard == [[1] * 10 + [2] * 4, [1] * 4 + [2] * 10 + [3] * 4, [2] * 4 + [3] * 6]
    assert [skip for _, _, skip in found] == [0, 4, 4]
    assert [len(codes) for _, codes, _ in found] == [10, 14, 10]
    heard.clear()
    found = list(stretches.coded(made_pieces(values), code, 1))
    assert [len(one) for one in heard] == [10, 10, 6]
    assert [skip for _, _, skip in found] == [0, 0, 0]


# ------------------------------------------------------------------------ learning


def spectrogram(T=60, F=9, K=2, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.random((K, 1, F)) ** 3
    C = rng.gamma(0.5, size=(T, K))
    return model_of(C, D) + 1e-3


@pytest.mark.parametrize("divergence", ["kl", "is"])
def test_the_past_is_a_majoriser_that_is_least_at_the_parts(divergence):
    V = spectrogram()
    model = ConvolutiveNMF(2, 1, divergence, random_state=0).fit(V)
    power = {"kl": 1, "is": 2}[divergence]
    np.testing.assert_allclose(np.linalg.norm(model.components_.reshape(2, -1), axis=1), 1)
    assert model.n_seen_ == 60
    assert model.unit_ == V.max()
    least = (model.N_ / model.P_) ** (1 / power)
    large = model.components_ > 0.01
    np.testing.assert_allclose(least[large], model.components_[large], rtol=0.1)


def test_known_parts_stay_as_they_are_and_others_learn():
    V = spectrogram(seed=1)
    known = np.abs(RNG.normal(size=(2, 1, 9))) + 0.1
    frozen = np.array([True, False])
    model = ConvolutiveNMF(2, 1, "kl", known, frozen, random_state=0).fit(V)
    np.testing.assert_array_equal(model.components_[0], known[0])
    assert (model.components_[1] != known[1]).any()
    model.partial_fit(V)
    np.testing.assert_array_equal(model.components_[0], known[0])
    both = ConvolutiveNMF(2, 1, "kl", known, np.array([True, True])).fit(V)
    np.testing.assert_array_equal(both.components_, known)
    assert both.n_seen_ == 60
    both.partial_fit(V[:20])
    np.testing.assert_array_equal(both.components_, known)
    assert both.n_seen_ == 80


def test_a_first_block_is_a_fit_and_the_next_ones_forget():
    V = spectrogram(T=80, seed=2)
    one, other = (ConvolutiveNMF(2, 1, "kl", random_state=0) for _ in range(2))
    one.fit(V[:40])
    other.partial_fit(V[:40])
    np.testing.assert_array_equal(one.components_, other.components_)
    N, P = one.N_.copy(), one.P_.copy()
    scaled = (V[40:] / one.unit_).astype(np.float32)
    D = one.components_.astype(np.float32)
    C = one._coded(scaled, D)
    up, down = slopes_of_parts(scaled, C, D, "kl")
    past = patterns._FORGETTING(40, 80)
    found = one._with_past(scaled, C, D)
    np.testing.assert_allclose(found[0], past * N + np.float64(D) * up, rtol=1e-6)
    np.testing.assert_allclose(found[1], past * P + down, rtol=1e-6)
    assert 0 < past < 1


@pytest.mark.parametrize("divergence", ["kl", "is"])
def test_several_beginnings_are_no_worse_than_one(divergence):
    V = spectrogram(T=80, K=3, seed=3)
    values = []
    for n_starts in (1, 4):
        model = ConvolutiveNMF(3, 1, divergence, n_starts=n_starts, random_state=0).fit(V)
        scaled = V / model.unit_
        codes = model.transform(scaled)
        assert codes.dtype == np.float64
        values.append(divergence_of(scaled, model_of(codes, model.components_), divergence))
    assert values[1] <= 1.1 * values[0]


@pytest.mark.parametrize("L", [1, 4])
def test_a_first_guess_is_spectra_that_fade_where_it_becomes_louder(L):
    V = spectrogram(T=50, K=3, seed=4)
    C, D = first_guess(V, 3, L, np.random.RandomState(0))
    assert (C.shape, D.shape) == ((50, 3), (3, L, 9))
    assert C.dtype == D.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(D.reshape(3, -1), axis=1), 1, rtol=1e-5)
    fading = np.exp(-3 * np.arange(L) / L)
    np.testing.assert_allclose(
        D / D[:, :1], np.broadcast_to(fading[None, :, None], D.shape), rtol=1e-4
    )
    loud = V.sum(axis=1)
    rise = np.maximum(np.diff(loud, prepend=0), 0) + 0.02 * loud.mean()
    shape = loud if L == 1 else rise
    for k in range(3):
        np.testing.assert_allclose(C[:, k] / C[0, k], shape / shape[0], rtol=1e-4)
    assert (D > 0).all()
    assert not np.allclose(D[0], D[1])


def test_steps_end_when_they_are_of_no_use():
    V, calls = spectrogram(), []
    pair = first_guess(V, 2, 1, np.random.RandomState(0))

    def step(given):
        calls.append(1)
        return given

    patterns._settled(V, pair, step, 200, "kl")
    assert len(calls) == 20  # at the second look nothing has changed
    calls.clear()
    patterns._settled(V, pair, step, 7, "kl")
    assert len(calls) == 7


def test_parts_stay_positive_and_zeros_have_a_length():
    D = np.array([[[3.0, 4.0, 0.0]], [[0.0, 0.0, 0.0]]])
    np.testing.assert_allclose(patterns._lengths(D), [5, 1])
    found = patterns._positive(D)
    assert found[0, 0, 2] == pytest.approx(5e-10)
    assert found[0, 0, 0] == 3


# ------------------------------------------------------------------------ the separator


def tone(seconds=0.5, rate=2000):
    time = np.arange(int(seconds * rate)) / rate
    return np.sin(2 * np.pi * 200 * time) + np.sin(2 * np.pi * 600 * time) * (time > 0.2)


@pytest.fixture(scope="module")
def model():
    return SoundSeparator(2, window=64, random_state=0, verbose=0).fit(tone(), rate=2000)


def test_frequencies_and_peaks_are_in_hertz(model):
    np.testing.assert_allclose(model.frequencies_, np.arange(33) * 2000 / 64)
    assert model.parts_.shape == (2, 33)
    found = np.sort(model.peaks_)
    np.testing.assert_allclose(found, [200, 600], atol=2000 / 64)
    assert model.rate_ == 2000
    with pytest.raises(ValueError, match=r"1000 samples in a second, and .* at 2000"):
        model.separate(tone(), rate=1000)


def test_codes_grow_with_the_sound_and_silence_has_none(model):
    sound = tone()
    codes = model.transform(sound, rate=2000)
    assert codes.shape == (Spectrogram(64, 2000).n_frames(len(sound)), 2)
    np.testing.assert_allclose(
        model.transform(3 * sound, rate=2000), 3 * codes, rtol=1e-4, atol=1e-6
    )
    quiet = np.concatenate([sound, np.zeros(400)])
    assert not model.transform(quiet, rate=2000)[-10:].any()
    before = model.model_.n_seen_
    assert model.partial_fit(np.zeros(500), rate=2000).model_.n_seen_ == before
    with pytest.raises(ValueError, match="is silent"):
        SoundSeparator(2, window=64, verbose=0).fit(np.zeros(500), rate=2000)


def test_every_number_of_a_file_comes_back(model, tmp_path):
    thresher.save(model, tmp_path / "a")
    again = thresher.load(tmp_path / "a")
    for name in ("components_", "N_", "P_", "n_seen_", "unit_"):
        np.testing.assert_array_equal(getattr(again.model_, name), getattr(model.model_, name))
    assert again.rate_ == 2000
    assert type(again.rate_) is int
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(SoundSeparator(), tmp_path / "b")


@pytest.mark.parametrize("window", [15, 12, 18, 64.0, "long"])
def test_windows_are_multiples_of_four(window):
    with pytest.raises(ValueError, match="window="):
        SoundSeparator(2, window=window, verbose=0).fit(tone(), rate=2000)
    SoundSeparator(1, window=16, random_state=0, verbose=0).fit(tone(0.1), rate=2000)


def test_a_recording_in_memory_is_given_as_often_as_it_is_asked_for():
    given = Recording(audio_of(np.zeros(5)), 100, True)
    assert [len(list(given)) for _ in range(2)] == [1, 1]
