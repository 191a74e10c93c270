"""Steps of the spectral unmixer by themselves, against the same written out, and planted truth."""

import numpy as np
import pytest
from scipy.optimize import nnls

import thresher
from thresher import SpectralUnmixer
from thresher.tasks.spectra import bands, counting, kept, mixture, subspace, vertices, volume
from thresher.tasks.spectra.subspace import Pixels


def pixels_of(points, noise=1e-3, brightness=None):
    """Points on the plane p₀ + p₁ + … = 1, times √K."""
    n, K = points.shape
    u = np.ones(K) / np.sqrt(K)
    return Pixels(
        np.eye(K),
        u,
        points / (points @ u)[:, None],
        np.ones(n) if brightness is None else brightness,
        np.full(n, noise),
        np.ones(n, bool),
    )


# ------------------------------------------------------------------------ bands


def test_neighbours_are_the_median_of_three_bands_on_either_side():
    X = np.random.default_rng(0).random((4, 12))
    found = bands._neighbours(X)
    for band in range(12):
        sides = []
        for d in (1, 2, 3):
            for sign in (-1, 1):
                at = band + sign * d
                if 0 <= at < 12:
                    sides.append(X[:, at])
                else:  # the line through the two at the same distance on the other side
                    near, far = X[:, band - sign * d], X[:, band - 2 * sign * d]
                    sides.append(near + 2 * (near - far))
        np.testing.assert_allclose(found[:, band], np.median(sides, axis=0))
    line = np.arange(12.0)[None] * 3 + 1
    np.testing.assert_allclose(bands._neighbours(line), line)
    assert bands._neighbours(X[:, :2]) is not None
    np.testing.assert_array_equal(bands._neighbours(X[:, :2]), X[:, :2])


def smooth(n=60, n_bands=24):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 3, n_bands)
    return 2 + np.sin(x + rng.random((n, 1))) + 0.01 * rng.normal(size=(n, n_bands))


def test_a_band_is_bad_if_most_pixels_say_so():
    X = smooth()
    assert not bands.bad_bands(X).any()
    X[:, 7] = 0  # dead
    X[:40, 15] = 9  # stuck, in two of three
    X[:20, 20] = 9  # in one of three
    assert np.flatnonzero(bands.bad_bands(X)).tolist() == [7, 15]
    slightly = smooth()
    slightly[:, 9] *= 1.2  # a fifth is far from what is usual, and no quarter
    assert not bands.bad_bands(slightly).any()
    slightly[:, 9] *= 1.3 / 1.2
    assert bands.bad_bands(slightly)[9]


def test_single_values_that_are_far_off_are_spikes():
    X = smooth()
    spoiled = X.copy()
    spoiled[3, 5] *= 1.2
    spoiled[4, 6] *= 1.5
    clean = bands.without_spikes(spoiled)
    assert clean[3, 5] == spoiled[3, 5]
    assert clean[4, 6] == pytest.approx(X[4, 6], rel=0.02)
    assert (clean != spoiled).sum() == 1


def test_bad_bands_are_bridged_along_a_line():
    spectra = np.array([[0.0, 9.0, 9.0, 3.0, 5.0, 9.0]])
    bad = np.array([False, True, True, False, False, True])
    np.testing.assert_allclose(bands.bridged(spectra, bad), [[0, 1, 2, 3, 5, 5]])
    assert spectra[0, 1] == 9


# ------------------------------------------------------------------------ subspace


@pytest.mark.parametrize(("alpha", "beta"), [(0.02, 0.0), (0.0, 0.05), (0.03, 0.04)])
def test_noise_has_a_part_of_its_own_and_one_that_grows_with_the_light(alpha, beta):
    rng = np.random.default_rng(0)
    s = rng.uniform(0.2, 3, 8000)
    left = np.sqrt(alpha**2 + beta**2 * s**2) * rng.normal(size=8000)
    wanted = np.array([-1.0, 0.5, 2.5])
    expected = np.sqrt(alpha**2 + beta**2 * np.maximum(wanted, 0) ** 2)
    found = subspace._noise(left, s, wanted)
    least = 1e-3 * np.median(s)
    np.testing.assert_allclose(found, np.maximum(expected, least), rtol=0.2, atol=2 * least)
    exact = subspace._noise(np.zeros(100), s[:100], wanted)
    assert (exact > 0).all()  # no instrument is more exact than a thousandth


def test_strange_and_dark_pixels_are_not_sound():
    rng = np.random.default_rng(0)
    E = 1 + rng.random((3, 30))
    X = rng.dirichlet(np.ones(3), 300) @ E + 0.005 * rng.normal(size=(300, 30))
    X[:5] += 2 * rng.random((5, 30))  # no mixtures
    X[5:8] *= 1e-4  # too dark to tell
    X[8] = -X[8]
    found = subspace.sound_pixels(X, 3)
    assert not found.sound[:9].any()
    assert found.sound[9:].mean() > 0.95
    assert len(found.points) == len(found.brightness) == len(found.noise) == found.sound.sum()
    np.testing.assert_allclose(
        found.points * found.brightness[:, None], X[found.sound] @ found.directions
    )
    bright = subspace.sound_pixels(np.concatenate([X[9:], 3 * X[9:12]]), 3)
    np.testing.assert_allclose(bright.points[-3:], bright.points[:3], atol=1e-6)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_end_members_are_counted_by_where_energies_fall(K):
    rng = np.random.default_rng(K)
    E = rng.random((K, 40))
    X = rng.dirichlet(np.ones(K), 600) @ E + 1e-3 * rng.normal(size=(600, 40))
    assert counting.count_endmembers(X) == K
    assert counting.count_endmembers(X[:, :2]) == 1
    assert counting.count_endmembers(X[:2]) == 1
    assert counting.count_endmembers(X[:, :3]) >= 2


# ------------------------------------------------------------------------ corners


def simplex_points(n=900, seed=0, pure=30):
    rng = np.random.default_rng(seed)
    corners = np.array([[3.0, 1, 1], [1, 3, 1], [1, 1, 3]])
    shares = np.concatenate([rng.dirichlet(np.ones(3), n), np.repeat(np.eye(3), pure, axis=0)])
    return corners, shares @ corners + 1e-4 * rng.normal(size=(len(shares), 3))


def test_the_purest_pixels_are_the_corners():
    corners, points = simplex_points()
    pixels = pixels_of(points)
    wanted = corners / (corners @ pixels.upright)[:, None]
    found = vertices.purest(pixels)
    order = np.argmax(found @ np.linalg.inv(wanted), axis=1)
    np.testing.assert_allclose(found, wanted[order], atol=5e-3)
    np.testing.assert_allclose(found @ pixels.upright, 1)


def test_a_far_point_that_is_noisy_is_no_corner():
    corners, points = simplex_points()
    points = np.concatenate([points, [[9.0, 0.2, 0.2]] * 5])
    pixels = pixels_of(points)
    noise = pixels.noise.copy()
    noise[-5:] = 5.0
    wanted = corners / (corners @ pixels.upright)[:, None]
    found = vertices.purest(pixels._replace(noise=noise))
    nearest = np.linalg.norm(found[:, None] - wanted, axis=2).min(axis=1)
    assert nearest.max() < 0.05


def test_too_few_spectra_are_told_with_their_number():
    rng = np.random.default_rng(0)
    two = rng.dirichlet(np.ones(2), 200) @ np.array([[3.0, 1, 1], [1, 3, 1]])
    with pytest.raises(ValueError, match="mixtures of 2 spectra, not of 3; set n_components=2"):
        vertices.purest(pixels_of(two))


def test_a_corner_stays_where_too_few_pixels_are_pure():
    points = np.array([[1.0, 0.0], [1.2, 0.0], [1.4, 0.0], [0.0, 1.0], [0.0, 1.1]])
    pixels = pixels_of(points)._replace(points=points)
    E = np.array([[5.0, 0.0], [0.0, 5.0]])
    members = [
        np.array([True, True, True, False, False]),
        np.array([False, False, False, True, True]),
    ]
    np.testing.assert_allclose(vertices._medians(pixels, E, members, 3), [[1.2, 0], [0, 5]])
    np.testing.assert_allclose(vertices._medians(pixels, E, members, 2), [[1.2, 0], [0, 1.05]])
    u = pixels.upright
    np.testing.assert_allclose(vertices.on_plane(E, pixels) @ u, 1)


def test_nearly_pure_pixels_have_nine_tenths_of_one():
    E = np.eye(2) * np.sqrt(2)
    share = np.array([0.89, 0.89, 0.89, 0.89, 0.92, 0.94, 0.96])
    points = np.column_stack([share, 1 - share])
    found = vertices._averaged(pixels_of(points), E)
    np.testing.assert_allclose(found[0] / found[0].sum(), [0.94, 0.06], atol=1e-4)
    np.testing.assert_allclose(found[1], E[1])


def test_pixels_that_are_a_corner_as_far_as_noise_tells():
    E = np.eye(2) * np.sqrt(2)
    away = np.array([0.0, 1.0, 2.0, 2.9, 3.1, 10.0]) * 0.01
    points = E[0] + away[:, None] * np.array([-1, 1]) / np.sqrt(2)
    pixels = pixels_of(points, noise=0.01)
    found = vertices._settled(pixels, E)
    expected = np.median(points[:4], axis=0)
    np.testing.assert_allclose(found[0], expected / (expected @ pixels.upright), atol=1e-6)
    np.testing.assert_allclose(found[1], E[1])


# ------------------------------------------------------------------------ volume


def test_pixels_outside_of_the_simplex_say_that_none_is_pure():
    corners, points = simplex_points(pure=0)
    pixels = pixels_of(points, noise=1e-2)
    E = corners / (corners @ pixels.upright)[:, None]
    middle = E.mean(axis=0)
    assert not volume.lacks_pure_pixels(pixels, E)
    assert volume.lacks_pure_pixels(pixels, middle + 0.5 * (E - middle))
    lengths, codes, left = volume._distances(pixels.points[:20], 0.5 * E)
    for n in range(20):
        expected, rest = nnls(0.5 * E.T, pixels.points[n])
        assert lengths[n] == pytest.approx(rest, abs=1e-4)
        np.testing.assert_allclose(codes[n], expected, atol=1e-3)
    np.testing.assert_allclose(left, pixels.points[:20] - codes @ (0.5 * E))
    assert volume.volume(np.diag([2.0, -3.0])) == pytest.approx(6)


def test_sizes_make_codes_of_most_pixels_sum_to_one():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 500)
    lengths = np.array([1.0, 2.0, 4.0])
    pixels = pixels_of(np.ones((500, 3)))
    E = vertices.on_plane(np.array([[3.0, 1, 1], [1, 3, 1], [1, 1, 3]]), pixels)
    Y = (shares * lengths) @ E
    s = Y @ pixels.upright
    sizes = mixture._sizes(pixels._replace(points=Y / s[:, None], brightness=s), E)
    np.testing.assert_allclose(sizes, lengths, rtol=1e-3)


# ------------------------------------------------------------------------ the mixture


def made(n=400, n_bands=30, seed=0):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, n_bands)
    E = np.stack([1 + x, 2 - x, 1 + np.sin(3 * x)])
    shares = np.concatenate([rng.dirichlet(np.ones(3), n), np.repeat(np.eye(3), 20, axis=0)])
    return shares @ E + 1e-3 * rng.normal(size=(len(shares), n_bands)), E


def test_what_is_learned_is_in_the_unit_that_was_asked_for():
    X, E = made()
    scene = mixture.learned(7 * X, 3, "lit", "scene", "auto")
    order = np.argmax(scene.endmembers @ np.linalg.pinv(E), axis=1)
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(scene.endmembers, 7 * E[order], rtol=0.02)
    assert scene.endmembers.max() == pytest.approx(7 * E.max(), rel=0.05)
    ones = mixture.learned(7 * X, 3, "lit", "one", "auto")
    np.testing.assert_allclose(ones.endmembers.max(axis=1), 1, rtol=1e-6)
    assert not scene.grown
    assert not scene.bad.any()
    assert (
        mixture.learned(X.astype(np.float32), 3, "lit", "scene", "auto").endmembers.dtype
        == np.float32
    )
    one = mixture.learned(X, 1, "lit", "scene", "auto")
    np.testing.assert_allclose(one.endmembers[0], np.median(X, axis=0), rtol=1e-6)
    assert not one.grown


@pytest.mark.parametrize(
    ("shares", "code_set"), [("lit", "nonnegative"), ("whole", "simplex"), ("shade", "l1_ball")]
)
def test_the_coder_has_frozen_atoms_and_codes_as_shares_mean(shares, code_set):
    X, _ = made()
    coder = mixture.learned(X, 3, shares, "scene", "auto").coder
    assert coder.code_set == code_set
    assert list(coder.frozen_atoms) == [0, 1, 2]
    assert coder.outlier_weight == "mad"
    codes = coder.transform(X)
    assert codes.min() >= 0
    if shares == "whole":
        np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-5)
    if shares == "shade":
        assert codes.sum(axis=1).max() <= 1 + 1e-5


def test_dead_pixels_and_bad_bands_have_no_say():
    X, _ = made()
    alive = mixture.learned(X, 3, "lit", "scene", "auto")
    dead = mixture.learned(np.concatenate([np.zeros((50, 30)), X]), 3, "lit", "scene", "auto")
    np.testing.assert_allclose(dead.endmembers, alive.endmembers, rtol=0.02)
    stuck = X.copy()
    stuck[:, 11] = 50
    found = mixture.learned(stuck, 3, "lit", "scene", "auto")
    assert np.flatnonzero(found.bad).tolist() == [11]
    np.testing.assert_allclose(
        found.endmembers[:, 11], found.endmembers[:, [10, 12]].mean(axis=1), rtol=1e-6
    )
    assert found.coder.n_features_in_ == 29
    with pytest.raises(ValueError, match="all zero"):
        mixture.learned(np.zeros((5, 4)), 2, "lit", "scene", "auto")


def test_enough_pixels_and_bands():
    mixture._check_enough(np.ones((3, 3)), 3)
    with pytest.raises(ValueError, match="needs at least 4 pixels; there are 3"):
        mixture._check_enough(np.ones((3, 9)), 4)
    with pytest.raises(ValueError, match="needs at least 4 sound bands; there are 3"):
        mixture._check_enough(np.ones((9, 3)), 4)
    assert len(mixture._some(np.ones((4000, 1)))) == 2000
    assert len(mixture._some(np.ones((3999, 1)))) == 3999


@pytest.mark.parametrize("grow", [True, False])
def test_the_volume_tells_if_it_is_asked(grow):
    X, _ = made()
    assert mixture.learned(X, 3, "lit", "scene", grow).grown is grow


# ------------------------------------------------------------------------ kept pixels


def test_kept_pixels_are_those_with_the_lowest_lots(monkeypatch):
    monkeypatch.setattr(kept, "MOST_KEPT", 10)
    X = np.arange(40.0)[:, None]
    some = kept.KeptPixels.none(X, 5).with_more(X[:15]).with_more(X[15:])
    lots = np.random.Generator(np.random.PCG64(5)).random(40)
    expected = np.sort(np.argsort(lots)[:10])
    np.testing.assert_array_equal(some.pixels[:, 0], expected)
    np.testing.assert_array_equal(some.lots, lots[expected])
    assert (some.n_seen, some.seed) == (40, 5)
    few = kept.KeptPixels.none(X, 5).with_more(X[:10])
    assert len(few.pixels) == 10


def test_an_unmixer_without_pixels_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="has not seen a pixel"):
        thresher.save(SpectralUnmixer(), tmp_path / "a")
