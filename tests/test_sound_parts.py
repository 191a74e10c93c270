"""Parts that last several windows: their steps never do harm, and drums are told apart."""

import itertools

import numpy as np
import pytest

import thresher
from promises.fitted_models import forge
from thresher import SoundSeparator
from thresher.datasets.samples.drums import RATE, drum_samples
from thresher.metrics import signal_to_distortion
from thresher.tasks.sound.convolutive import (
    better_codes,
    better_parts,
    divergence_of,
    gathered,
    laid_out,
    model_of,
    slopes_of_parts,
)
from thresher.tasks.sound.patterns import ConvolutiveNMF


def made(T=30, K=3, L=5, F=8, seed=0):
    """Positive spectra, and codes and parts that do not fit them."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(T, F)) + 1e-6, rng.random((T, K)), rng.random((K, L, F))


def separator(n_components=3, **parameters):
    given = {"window": 1024, "random_state": 0, "verbose": 0, **parameters}
    return SoundSeparator(n_components, **given)


# ----------------------------------------------------------------------------- mathematics


@pytest.mark.parametrize("T", [3, 12])
def test_gathering_is_the_transpose_of_laying_out(T):
    rng = np.random.default_rng(0)
    C, G = rng.random((T, 2)), rng.random((T, 2 * 5))
    np.testing.assert_allclose(np.sum(laid_out(C, 5) * G), np.sum(C * gathered(G, 5)))


def test_a_part_is_heard_as_long_as_it_lasts():
    C, D = np.zeros((9, 1)), np.arange(1.0, 7.0).reshape(1, 3, 2)
    C[2], C[8] = 1, 10
    wanted = np.zeros((9, 2))
    wanted[2:5], wanted[8] = D[0], 10 * D[0, 0]  # the end of a recording cuts parts off
    np.testing.assert_array_equal(model_of(C, D), wanted)


@pytest.mark.parametrize("divergence", ["kl", "is"])
@pytest.mark.parametrize(("T", "L"), [(30, 1), (30, 5), (4, 5)])
def test_steps_never_make_the_divergence_worse(divergence, T, L):
    V, C, D = made(T=T, L=L)
    values = [divergence_of(V, model_of(C, D), divergence)]
    for _ in range(20):
        C = better_codes(V, C, D, divergence)
        values.append(divergence_of(V, model_of(C, D), divergence))
        D = better_parts(V, C, D, divergence)
        values.append(divergence_of(V, model_of(C, D), divergence))
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert values[-1] < 0.7 * values[0]


@pytest.mark.parametrize("divergence", ["kl", "is"])
def test_halves_of_the_slope_are_those_of_the_divergence(divergence):
    V, C, D = made()
    up, down = slopes_of_parts(V, C, D, divergence)
    slope, step = down - up, 1e-6
    for at in [(0, 0, 0), (1, 2, 3), (2, 4, 7)]:
        higher, lower = D.copy(), D.copy()
        higher[at] += step
        lower[at] -= step
        change = [divergence_of(V, model_of(C, moved), divergence) for moved in (higher, lower)]
        np.testing.assert_allclose((change[0] - change[1]) / (2 * step), slope[at], rtol=1e-5)


@pytest.mark.parametrize("divergence", ["kl", "is"])
def test_planted_parts_are_found_at_once_and_step_by_step(divergence):
    rng = np.random.default_rng(1)
    true = rng.gamma(0.3, size=(2, 3, 20)) + 1e-4
    true /= np.linalg.norm(true.reshape(2, -1), axis=1)[:, None, None]

    def spectra(T):
        return model_of(rng.gamma(0.2, size=(T, 2)) + 1e-6, true)

    def cosines(model):
        found = model.components_.reshape(2, -1)
        return np.abs(true.reshape(2, -1) @ found.T).max(axis=1)

    model = ConvolutiveNMF(2, 3, divergence, n_starts=5, random_state=0).fit(spectra(300))
    assert np.all(cosines(model) > 0.98)
    model = ConvolutiveNMF(2, 3, divergence, n_starts=5, random_state=0)
    before = cosines(model.partial_fit(spectra(20)))
    for _ in range(20):
        model.partial_fit(spectra(20))
    assert np.all(cosines(model) > 0.98)
    assert np.all(cosines(model) > before)


# ----------------------------------------------------------------------------------- drums


def blind(sources, **parameters):
    """Mean signal-to-distortion of the drums, matched as well as can be."""
    mixture = sources.sum(axis=0)
    model = separator(n_starts=5, **parameters).fit(mixture, rate=RATE)
    parts = model.separate(mixture, rate=RATE).parts
    orders = itertools.permutations(parts)
    return max(np.mean(list(map(signal_to_distortion, sources, order))) for order in orders)


def test_drums_are_told_apart_better_by_parts_that_last():
    # Seeds from 100 on were used to choose constants.
    gains = []
    for seed in (1, 2, 3):
        sources = drum_samples(seed, bars=2)
        gains.append(blind(sources, n_frames=8) - blind(sources))
    assert np.mean(gains) > 1.5, gains


@pytest.mark.parametrize("n_frames", [1, 6])
def test_parts_of_drums_heard_alone_tell_them_apart(n_frames):
    sources = drum_samples(4, bars=2)
    half = sources.shape[1] // 2
    alone = [
        separator(1, n_frames=n_frames).fit(source[:half], rate=RATE).parts_ for source in sources
    ]
    known = np.concatenate(alone)
    model = separator(n_frames=n_frames, init=known, frozen_atoms=[0, 1, 2])
    model.fit(sources[:, :half].sum(axis=0), rate=RATE)
    np.testing.assert_array_equal(model.parts_, known)
    model.partial_fit(sources[:, half:].sum(axis=0), rate=RATE)
    np.testing.assert_array_equal(model.parts_, known)
    found = model.separate(sources[:, half:].sum(axis=0), rate=RATE).parts
    for source, part in zip(sources[:, half:], found, strict=True):
        assert signal_to_distortion(source, part) > 1


def test_onsets_are_strokes_even_if_parts_last():
    silence = np.zeros(RATE // 2)
    stroke = drum_samples(0, bars=1)[0][: RATE // 2] * np.exp(-np.arange(RATE // 2) / 2000)
    sound = np.concatenate([silence, stroke, silence, stroke, silence])
    model = separator(1, n_frames=8).fit(sound, rate=RATE)
    start = np.flatnonzero(np.abs(stroke) > 0.1).min() / RATE
    times = [onset.time for onset in model.onsets(sound, rate=RATE) if onset.rise > 0.5]
    np.testing.assert_allclose(times, [0.5 + start, 1.5 + start], atol=0.03)


def test_parts_that_last_are_saved_and_go_on(tmp_path):
    sound = drum_samples(5, bars=1).sum(axis=0)
    model = separator(2, n_frames=4, divergence="is").fit(sound[: RATE // 2], rate=RATE)
    thresher.save(model, tmp_path / "model")
    again = thresher.load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(sound[RATE // 2 :], rate=RATE)
    assert model.parts_.shape == (2, 4, 513)
    np.testing.assert_array_equal(again.parts_, model.parts_)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda arrays, _: arrays.update(parts=arrays["parts"][:, :1].copy()), "shape"),
        (lambda arrays, _: arrays["parts"].__imul__(-1), "negative"),
        (lambda arrays, _: arrays["N"].fill(np.nan), "finite"),
        (lambda _, document: document.update(unit=0.0), "negative"),
        (lambda _, document: document["parameters"].update(n_frames=0), "n_frames=0"),
    ],
)
def test_forged_parts_are_refused(change, told, tmp_path):
    model = separator(2, n_frames=3).fit(drum_samples(5, bars=1)[0][:9000], rate=RATE)
    thresher.save(model, tmp_path / "model")
    forge(tmp_path / "model", change)
    with pytest.raises(ValueError, match=told):
        thresher.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"n_frames": 0}, "n_frames=0"),
        ({"init": np.ones((3, 513)), "n_frames": 2}, r"\(3, 2, 513\)"),
        ({"init": -np.ones((3, 513))}, "negative"),
        ({"frozen_atoms": [0]}, "init="),
        ({"init": np.ones((3, 513)), "frozen_atoms": [3]}, "from 0 to 2"),
    ],
)
def test_known_parts_that_do_not_fit(parameters, told):
    with pytest.raises(ValueError, match=told):
        separator(**parameters).fit(np.ones(5000), rate=RATE)
