"""Spectral unmixing: planted spectra and shares are found, and damage does not move them."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.utils.estimator_checks import parametrize_with_checks

import thresher
from thresher import SpectralUnmixer
from thresher.datasets import make_spectral_scene
from thresher.metrics import spectral_angles
from thresher.tasks.spectra import kept as keeping
from thresher.tasks.spectra.bands import bad_bands, without_gaps, without_spikes
from thresher.tasks.spectra.subspace import sound_pixels
from thresher.tasks.spectra.vertices import cone_codes
from thresher.tasks.spectra.volume import smallest_simplex, volume

SIZES = {"height": 30, "width": 30, "n_bands": 50}


def scene(seed=0, **more):
    return make_spectral_scene(**{**SIZES, "n_endmembers": 3, **more}, random_state=seed)


def unmixer(n_components=3, **parameters):
    return SpectralUnmixer(n_components, random_state=0, verbose=0, **parameters)


def angle(given, cube=None, **parameters):
    found = unmixer(len(given.endmembers), **parameters).fit(given.cube if cube is None else cube)
    return spectral_angles(given.endmembers, found.endmembers_).mean()


def in_order(found, given):
    """Shares, in the order of the true end members."""
    cosines = [
        [spectral_angles([true], [other])[0] for other in found.endmembers_]
        for true in given.endmembers
    ]
    return np.asarray(found.transform(given.cube))[..., np.argmin(cosines, axis=1)]


@parametrize_with_checks([SpectralUnmixer(random_state=0, verbose=0)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------ planted truth


@pytest.mark.parametrize(
    "more",
    [{}, {"dark": True, "illumination": 0.2}, {"variability": 0.05, "illumination": 0.2}],
    ids=["plain", "dark", "variable"],
)
def test_planted_spectra_and_shares_are_found(more):
    given = scene(**more)
    found = unmixer().fit(given.cube)
    assert spectral_angles(given.endmembers, found.endmembers_).mean() < 0.03
    assert found.has_pure_pixels_
    shares = in_order(found, given)
    np.testing.assert_allclose(shares.sum(axis=2), 1, rtol=1e-9)
    assert np.sqrt(np.mean((shares - given.abundances) ** 2)) < 0.06


def test_light_does_not_matter():
    given = scene()
    light = np.random.default_rng(0).uniform(0.3, 3, given.cube.shape[:2])[..., None]
    plain, lit = (unmixer().fit(cube) for cube in (given.cube, light * given.cube))
    assert spectral_angles(plain.endmembers_, lit.endmembers_).max() < 0.01
    for one, cube in ((plain, light * given.cube), (lit, light * given.cube)):
        shares = one.transform(cube)
        assert np.abs(np.sort(shares) - np.sort(plain.transform(given.cube))).mean() < 0.02


def test_without_pure_pixels_the_volume_tells():
    given = scene(5, pure=False, snr=40.0)
    assert not unmixer().fit(given.cube).has_pure_pixels_
    assert angle(given) < 0.5 * angle(given, volume=False)


@pytest.mark.parametrize("damage", ["noisy bands", "dead bands", "noise", "glare", "spikes"])
def test_damage_does_not_move_end_members(damage):
    given, rng = scene(dark=True, snr=35.0), np.random.default_rng(1)
    cube, top = given.cube.copy(), given.cube.max()
    bands = [5, 23, 40]
    strange = rng.random(cube.shape[:2]) < 0.05
    if damage == "noisy bands":
        cube[..., bands] = top * rng.random((*cube.shape[:2], 3))
    elif damage == "dead bands":
        cube[..., bands] = 0
    elif damage == "noise":
        cube[strange] = top * rng.random((strange.sum(), cube.shape[2]))
    elif damage == "glare":
        cube[strange] *= 5
    else:
        cube[rng.random(cube.shape) < 0.01] = 3 * top
    found = unmixer().fit(cube)
    seen = ~found.bad_bands_  # what is bridged is as good as a line
    true, whole = given.endmembers[:, seen], unmixer().fit(given.cube).endmembers_[:, seen]
    moved = spectral_angles(true, found.endmembers_[:, seen]).mean()
    assert moved < 1.2 * spectral_angles(true, whole).mean() + 0.002
    wanted = bands if "bands" in damage else []
    assert np.flatnonzero(found.bad_bands_).tolist() == wanted


def test_the_number_of_end_members_is_told():
    for K in (2, 3, 5):
        assert len(unmixer(None).fit(scene(K, n_endmembers=K, snr=40.0).cube).endmembers_) == K


# ---------------------------------------------------------------------------- the parts


def test_codes_in_a_cone_are_those_of_scipy():
    rng = np.random.default_rng(0)
    E, Y = rng.standard_normal((4, 4)), rng.standard_normal((40, 4))
    expected = np.array([nnls(E.T, y)[0] for y in Y])
    np.testing.assert_allclose(cone_codes(E, Y), expected, atol=1e-4)


def test_noise_is_what_was_added():
    """White noise: the same along every direction, so what is left of one tells of the others."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(3), 4000) @ (1 + rng.random((3, 40))) + 0.05 * rng.normal(
        size=(4000, 40)
    )
    pixels = sound_pixels(X, 3)
    np.testing.assert_allclose(np.median(pixels.noise * pixels.brightness), 0.05, rtol=0.15)
    np.testing.assert_allclose(pixels.points @ pixels.upright, 1)
    np.testing.assert_allclose(pixels.directions.T @ pixels.directions, np.eye(3), atol=1e-12)


def test_the_smallest_simplex_is_a_minimum():
    """It is likelier than others near it, and holds the points."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 1500)
    shares = shares[shares.max(axis=1) < 0.8]
    true = 1 + rng.random((3, 30))
    pixels = sound_pixels(shares @ true + 1e-3 * rng.normal(size=(len(shares), 30)), 3)
    corners = true @ pixels.directions
    corners /= (corners @ pixels.upright)[:, None]
    middle = corners.mean(axis=0)
    for start in (0.8, 1.2):
        found = smallest_simplex(pixels, middle + start * (corners - middle))
        away = min(np.abs(found[list(p)] - corners).max() for p in [(0, 1, 2)])
        assert away < 0.1 * np.abs(corners - middle).max()
        assert 0.8 < volume(found) / volume(corners) < 1.2


def test_bands_without_an_order_are_not_bad():
    rng = np.random.default_rng(0)
    assert not bad_bands(rng.random((200, 40))).any()
    assert not bad_bands(rng.random((20, 1))).any()


def test_gaps_are_bridged_along_a_line():
    X = np.arange(20.0).reshape(2, 10)
    holes = X.copy()
    holes[0, [2, 3]] = holes[1, 5] = np.nan
    np.testing.assert_allclose(without_gaps(holes), X)
    assert len(without_gaps(np.full((3, 4), np.nan))) == 0


def test_spikes_are_replaced_and_the_rest_stays():
    given = scene().cube.reshape(-1, 50)
    spoiled = given.copy()
    spoiled[7, 20] = 5.0
    clean = without_spikes(spoiled)
    assert abs(clean[7, 20] - given[7, 20]) < 0.1
    assert (clean == spoiled).mean() > 0.99


# ------------------------------------------------------------------------------ promises


def test_pieces_of_a_line_are_the_whole(monkeypatch):
    monkeypatch.setattr(keeping, "MOST_KEPT", 400)
    rows = scene().cube.reshape(-1, 50)
    whole, pieces = unmixer().fit(rows), unmixer()
    for start in (0, 1, 130, 700):
        stop = {0: 1, 1: 130, 130: 700, 700: None}[start]
        pieces.partial_fit(rows[start:stop])
    np.testing.assert_array_equal(pieces.endmembers_, whole.endmembers_)
    assert pieces.n_samples_seen_ == len(rows)
    assert len(pieces._kept.pixels) == 400


def test_a_saved_unmixer_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_KEPT", 400)
    monkeypatch.setattr("thresher.tasks.spectra.file.MOST_KEPT", 400)
    rows = scene().cube.reshape(-1, 50)
    model = unmixer().partial_fit(rows[:500])
    thresher.save(model, tmp_path / "model")
    again = thresher.load(tmp_path / "model")
    np.testing.assert_array_equal(again.endmembers_, model.endmembers_)
    for one in (model, again):
        one.partial_fit(rows[500:])
    np.testing.assert_array_equal(again.endmembers_, model.endmembers_)
    np.testing.assert_array_equal(again.transform(rows[:9]), model.transform(rows[:9]))


def test_the_unit_does_not_matter():
    cube = scene().cube
    plain = unmixer().fit(cube)
    for unit in (2.0**-60, 2.0**60):
        other = unmixer().fit(unit * cube)
        np.testing.assert_allclose(other.endmembers_, unit * plain.endmembers_, rtol=1e-6)
        np.testing.assert_allclose(other.transform(unit * cube), plain.transform(cube), atol=1e-6)


def test_cubes_are_rows_and_a_separation_adds_up():
    given = scene()
    cube = given.cube.copy()
    cube[3, 4, 10] = 50.0
    cube[..., 30] = 0
    model = unmixer().fit(cube)
    shares = model.transform(cube)
    np.testing.assert_array_equal(shares.reshape(-1, 3), model.transform(cube.reshape(-1, 50)))
    np.testing.assert_allclose(model.transform(cube[2:3, 5:6])[0, 0], shares[2, 5], rtol=1e-6)
    low_rank, outliers, codes = model.separate(cube)
    np.testing.assert_array_equal(codes, shares)
    left = cube - low_rank - outliers
    assert np.abs(left).max() <= model.outlier_weight_ * (1 + 1e-6)
    np.testing.assert_allclose(left[..., 30], 0, atol=1e-12)  # a dead band is an outlier
    assert outliers[3, 4, 10] > 40
    assert model.score_samples(cube).shape == (30, 30)
    np.testing.assert_allclose(model.inverse_transform(np.eye(3)), model.endmembers_)


def test_shade_is_what_is_missing():
    given = scene()
    model = unmixer(shares="shade").fit(given.cube)
    shares = model.transform(0.5 * given.cube)
    assert shares.sum(axis=2).max() <= 1 + 1e-9
    np.testing.assert_allclose(np.median(shares.sum(axis=2)), 0.5, atol=0.1)
    whole = unmixer(shares="whole").fit(given.cube).transform(given.cube)
    np.testing.assert_allclose(whole.sum(axis=2), 1, rtol=1e-6)


def test_end_members_as_reference_data_have_them():
    found = unmixer(scale="maximum").fit(scene().cube)
    np.testing.assert_allclose(found.endmembers_.max(axis=1), 1)


def test_gaps_and_black_pixels():
    given = scene()
    cube = given.cube.copy()
    cube[np.random.default_rng(0).random(cube.shape) < 0.05] = np.nan
    cube[0, 0] = np.nan
    cube[1, 1] = 0
    model = unmixer().fit(cube)
    assert spectral_angles(given.endmembers, model.endmembers_).mean() < 0.03
    shares = model.transform(cube)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares[1, 1], 1 / 3)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"shares": "all"}, "shares='all'"),
        ({"scale": 3}, "scale=3"),
        ({"volume": "no"}, "volume='no'"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 60}, "needs at least 60 sound bands"),
    ],
)
def test_what_cannot_work_is_refused(parameters, told):
    with pytest.raises(ValueError, match=told):
        SpectralUnmixer(**parameters).fit(scene().cube)


@pytest.mark.parametrize("places", [[0], [99], [0, 1], [98, 99], [0, 50, 99]])
def test_the_first_and_the_last_band_may_be_bad(places):
    X = make_spectral_scene(20, 20, 100, 4, illumination=0.2, random_state=21).cube.reshape(-1, 100)
    assert not bad_bands(X).any()
    noise = np.random.default_rng(0).random((len(X), len(places)))
    for values in (noise, 0):
        spoilt = X.copy()
        spoilt[:, places] = values
        assert np.flatnonzero(bad_bands(spoilt)).tolist() == places


def test_bad_pixels_leave_an_unmixer_as_it_was():
    rows = scene().cube.reshape(-1, 50)
    model = unmixer().fit(rows)
    before = model.endmembers_
    for bad in (rows[:, :9], np.full((3, 50), np.inf), np.zeros((0, 50)), rows.astype(complex)):
        with pytest.raises(ValueError):
            model.partial_fit(bad)
    np.testing.assert_array_equal(model.endmembers_, before)
    with pytest.raises(ValueError, match="all zero"):
        unmixer().fit(np.zeros((50, 20)))
    two = np.random.default_rng(0).dirichlet([1, 1], 500) @ np.linspace([1, 2], [2, 1], 40, axis=1)
    with pytest.raises(ValueError, match="mixtures of 2 spectra"):
        unmixer(3).fit(two)
