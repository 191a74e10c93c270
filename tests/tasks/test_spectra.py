"""SpectralUnmixer: planted spectra and shares are found, and damage does not move them."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, nnls
from sklearn.decomposition import NMF
from sklearn.utils.estimator_checks import parametrize_with_checks

import thresher
from thresher import SpectralUnmixer
from thresher.datasets import make_spectral_scene
from thresher.metrics import spectral_angles

BANDS = 50


def scene(seed=0, **parameters):
    given = {"height": 30, "width": 30, "n_bands": BANDS, "n_endmembers": 3, **parameters}
    return make_spectral_scene(**given, random_state=seed)


def unmixer(n_components=3, **parameters):
    return SpectralUnmixer(n_components, **{"random_state": 0, "verbose": 0, **parameters})


@cache
def plain_model():
    return unmixer().fit(scene().cube)


def angle(given, found):
    return spectral_angles(given.endmembers, found).mean()


def successive_projections(cube, K):
    """End members by the successive projection algorithm: the farthest pixel, again and again."""
    X = cube.reshape(-1, cube.shape[2])
    X = X / X.sum(axis=1, keepdims=True)
    rest, chosen = X.copy(), []
    for _ in range(K):
        chosen.append(np.argmax((rest**2).sum(axis=1)))
        direction = rest[chosen[-1]] / np.linalg.norm(rest[chosen[-1]])
        rest = rest - np.outer(rest @ direction, direction)
    return X[chosen]


def shares_by_least_squares(cube, endmembers):
    codes = np.array([nnls(endmembers.T, x)[0] for x in cube.reshape(-1, cube.shape[2])])
    return (codes / codes.sum(axis=1, keepdims=True)).reshape(*cube.shape[:2], -1)


def share_error(given, endmembers, shares):
    """The root mean square error of shares, matched to the true end members."""
    D, E = (S / np.linalg.norm(S, axis=1, keepdims=True) for S in (given.endmembers, endmembers))
    order = linear_sum_assignment(-D @ E.T)[1]
    return np.sqrt(np.mean((np.asarray(shares)[..., order] - given.abundances) ** 2))


@parametrize_with_checks([SpectralUnmixer(random_state=0, verbose=0)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


# ------------------------------------------------------------------- planted truth


@pytest.mark.parametrize(
    "more",
    [{}, {"dark": True, "illumination": 0.2}, {"variability": 0.05, "illumination": 0.2}],
    ids=["plain", "dark", "variable"],
)
def test_planted_spectra_and_shares_are_found_better_than_by_simple_baselines(more):
    given = scene(**more)
    cube = given.cube.copy()
    model = unmixer().fit(cube)
    assert angle(given, model.endmembers_) < 0.03
    plain = NMF(3, init="nndsvda", max_iter=300, tol=1e-3).fit(cube.reshape(-1, BANDS)).components_
    projected = successive_projections(cube, 3)
    for baseline in (plain, projected):
        assert angle(given, model.endmembers_) < 0.9 * angle(given, baseline)
    shares = model.transform(cube)
    np.testing.assert_allclose(shares.sum(axis=2), 1, rtol=1e-9)
    error = share_error(given, model.endmembers_, shares)
    assert error < 0.06
    by_projections = shares_by_least_squares(cube, projected)
    assert error < share_error(given, projected, by_projections)
    assert model.has_pure_pixels_
    np.testing.assert_array_equal(cube, given.cube)


def test_brightness_of_pixels_does_not_matter():
    given = scene()
    light = np.random.default_rng(0).uniform(0.3, 3, given.cube.shape[:2])[..., None]
    here, lit = plain_model(), unmixer().fit(light * given.cube)
    assert spectral_angles(here.endmembers_, lit.endmembers_).max() < 0.01
    assert angle(given, lit.endmembers_) < 0.03
    difference = here.transform(light * given.cube) - here.transform(given.cube)
    assert np.abs(difference).mean() < 0.02


@pytest.mark.parametrize("seed", [0, 5])
def test_without_pure_pixels_the_smallest_simplex_is_found(seed):
    given = scene(seed, pure=False, snr=40.0)
    model = unmixer().fit(given.cube)
    assert not model.has_pure_pixels_
    assert angle(given, model.endmembers_) < 0.6 * angle(
        given, unmixer(volume=False).fit(given.cube).endmembers_
    )


@pytest.mark.parametrize("damage", ["noisy bands", "dead bands", "noise", "glare", "spikes"])
def test_damage_does_not_move_end_members(damage):
    given, rng = scene(dark=True, snr=35.0), np.random.default_rng(1)
    cube, top = given.cube.copy(), given.cube.max()
    bands = [0, 5, 23, 40, BANDS - 1]
    strange = rng.random(cube.shape[:2]) < 0.05
    if damage == "noisy bands":
        cube[..., bands] = top * rng.random((*cube.shape[:2], len(bands)))
    elif damage == "dead bands":
        cube[..., bands] = 0
    elif damage == "noise":
        cube[strange] = top * rng.random((strange.sum(), cube.shape[2]))
    elif damage == "glare":
        cube[strange] *= 5
    else:
        cube[rng.random(cube.shape) < 0.01] = 3 * top
    model = unmixer().fit(cube)
    good = ~model.bad_bands_
    planted, left_out = set(bands if "bands" in damage else []), set(np.flatnonzero(~good))
    assert planted <= left_out
    assert len(left_out - planted) <= 1
    moved = spectral_angles(given.endmembers[:, good], model.endmembers_[:, good]).mean()
    whole = unmixer().fit(given.cube).endmembers_[:, good]
    assert moved < 1.3 * spectral_angles(given.endmembers[:, good], whole).mean() + 0.003


def test_the_number_of_end_members_is_estimated():
    for K in (2, 3, 5):
        assert len(unmixer(None).fit(scene(K, n_endmembers=K, snr=40.0).cube).endmembers_) == K


def test_missing_values_and_black_pixels():
    given = scene()
    cube = given.cube.copy()
    cube[np.random.default_rng(0).random(cube.shape) < 0.05] = np.nan
    cube[0, 0] = np.nan
    cube[1, 1] = 0
    model = unmixer().fit(cube)
    assert angle(given, model.endmembers_) < 0.03
    shares = model.transform(cube)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares[1, 1], 1 / 3)
    assert np.abs(shares - model.transform(given.cube))[2:].mean() < 0.05


# ------------------------------------------------------------------- promises


def test_cubes_are_rows_and_a_separation_adds_up():
    cube = scene().cube.copy()
    cube[3, 4, 10] = 50.0
    cube[..., 30] = 0
    model = unmixer().fit(cube)
    shares = model.transform(cube)
    np.testing.assert_array_equal(shares.reshape(-1, 3), model.transform(cube.reshape(-1, BANDS)))
    np.testing.assert_allclose(model.transform(cube[2:3, 5:6])[0, 0], shares[2, 5], rtol=1e-6)
    low_rank, outliers, codes = model.separate(cube)
    np.testing.assert_array_equal(codes, shares)
    residual = cube - low_rank - outliers
    assert np.abs(residual).max() <= model.outlier_weight_ * (1 + 1e-6)
    np.testing.assert_allclose(residual[..., 30], 0, atol=1e-12)  # a dead band is an outlier
    assert outliers[3, 4, 10] > 40
    scores = model.score_samples(cube)
    assert scores.shape == cube.shape[:2]
    assert scores.argmin() == np.ravel_multi_index((3, 4), scores.shape)
    np.testing.assert_allclose(model.inverse_transform(np.eye(3)), model.endmembers_)


def test_conventions_of_shares_and_end_members():
    cube = scene().cube
    shade = unmixer(shares="shade").fit(cube).transform(0.5 * cube).sum(axis=2)
    assert shade.max() <= 1 + 1e-9
    assert np.median(shade) == pytest.approx(0.5, abs=0.1)
    whole = unmixer(shares="whole").fit(cube).transform(cube)
    np.testing.assert_allclose(whole.sum(axis=2), 1, rtol=1e-6)
    assert whole.min() >= 0
    largest = unmixer(scale="maximum").fit(cube).endmembers_.max(axis=1)
    np.testing.assert_allclose(largest, 1)


def test_a_flight_line_in_pieces_saved_and_continued_gives_the_bits_of_the_whole(tmp_path):
    rows = scene(height=120, width=100, n_bands=20).cube.reshape(-1, 20)  # more than are kept
    whole, pieces = unmixer().fit(rows), unmixer()
    for start, stop in ((0, 1), (1, 130), (130, 7000)):
        pieces.partial_fit(rows[start:stop])
    thresher.save(pieces, tmp_path / "model")
    loaded = thresher.load(tmp_path / "model")
    for model in (pieces, loaded):
        model.partial_fit(rows[7000:])
        assert model.n_samples_seen_ == len(rows)
        np.testing.assert_array_equal(model.endmembers_, whole.endmembers_)
        np.testing.assert_array_equal(model.transform(rows[:9]), whole.transform(rows[:9]))
    sizes = []
    for model in (pieces, pieces.partial_fit(rows)):
        thresher.save(model, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    assert sizes[1] < 1.01 * sizes[0]


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_results_do_not_depend_on_the_unit(unit):
    cube = scene().cube
    here, there = plain_model(), unmixer().fit(unit * cube)
    np.testing.assert_allclose(there.endmembers_ / unit, here.endmembers_, rtol=1e-6)
    np.testing.assert_allclose(there.transform(unit * cube), here.transform(cube), atol=1e-6)


def test_float32_stays_float32():
    single = scene().cube.astype(np.float32)
    model = unmixer().fit(single)
    assert model.endmembers_.dtype == model.transform(single).dtype == np.float32
    np.testing.assert_allclose(model.endmembers_, plain_model().endmembers_, rtol=1e-3)


# ------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"shares": "all"}, "shares"),
        ({"scale": 3}, "scale"),
        ({"volume": "no"}, "volume"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 60}, "60"),
    ],
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        unmixer(**parameters).fit(scene().cube)


def test_invalid_pixels_are_refused_and_leave_the_model_unchanged(tmp_path):
    rows = scene().cube.reshape(-1, BANDS)
    model = unmixer().fit(rows)
    before = model.endmembers_
    for bad in (rows[:, :9], np.full((3, 50), np.inf), np.zeros((0, 50)), rows.astype(complex)):
        with pytest.raises(ValueError):
            model.partial_fit(bad)
    np.testing.assert_array_equal(model.endmembers_, before)
    assert model.n_samples_seen_ == len(rows)
    with pytest.raises(ValueError, match="zero"):
        unmixer().fit(np.zeros((50, 20)))
    two = np.random.default_rng(0).dirichlet([1, 1], 500) @ np.linspace([1, 2], [2, 1], 40, axis=1)
    with pytest.raises(ValueError, match="n_components=2"):
        unmixer(3).fit(two)
    with pytest.raises(ValueError, match="has not seen"):
        thresher.save(unmixer(), tmp_path / "model")
