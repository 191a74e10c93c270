"""Steps of the rating model by themselves: scales, raters, tables, names, files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import thresher
from thresher import RatingModel
from thresher.persistence import Contents, FileError
from thresher.tasks.ratings.beliefs import Beliefs, told, updated
from thresher.tasks.ratings.file import pack_ratings, unpack_ratings
from thresher.tasks.ratings.kept import KeptRatings
from thresher.tasks.ratings.learning import (
    Pattern,
    RatingState,
    Scale,
    caught_up,
    newcomers,
    swept,
)
from thresher.tasks.ratings.raters import Noise, evidence, suspicion
from thresher.tasks.ratings.reading import read_ratings
from thresher.tasks.ratings.table import Names, matrix_of, pairs_of, triples_of

TRIPLES = (["a", "b", "a", "c"], [7, 7, 9, 9], [1.0, 2.0, 3.0, 4.0])


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 20), density=0.5, rng=rng, format="csr")
    X.data = rng.integers(1, 6, len(X.data)).astype(float)
    return RatingModel(2, max_iter=5, tol=0, random_state=0, verbose=0).fit(X)


# ------------------------------------------------------------------------ the scale


def test_the_scale_is_mean_spread_range_and_least_distance():
    values = np.array([1.0, 2.0, 2.5, 5.0])
    scale = Scale.of(values)
    assert (scale.center, scale.unit) == (pytest.approx(2.625), pytest.approx(values.std()))
    assert (scale.low, scale.high, scale.step) == (1, 5, 0.5)
    assert scale.rounding == pytest.approx((0.5 / values.std()) ** 2 / 12)
    assert scale.least_noise == pytest.approx(max(scale.rounding, 0.01))
    assert replace(scale, step=3 * scale.unit).least_noise == pytest.approx(0.75)
    wider = scale.seeing(np.array([0.0, 3.0]))
    assert (wider.low, wider.high, wider.unit) == (0, 5, scale.unit)
    assert scale.seeing(np.array([9.0])).high == 9
    alike = Scale.of(np.full(3, -4.0))
    assert (alike.center, alike.unit, alike.step) == (-4, 4, 0)
    assert Scale.of(np.full(3, 0.5)).unit == 1


# ------------------------------------------------------------------------ raters


def test_the_noise_of_a_rater_is_the_mean_of_a_gamma_posterior():
    found = Noise(3.0, 0.5).of_raters(np.array([0.0, 4.0]), np.array([0.0, 10.0]))
    np.testing.assert_allclose(found, [1 / 0.5, (3 + 2) / (1.5 + 5)])


def test_few_raters_and_those_who_are_to_be_alike_share_one_noise():
    counts, errors = np.full(20, 5.0), np.linspace(1, 10, 20)
    weights = np.ones(20)
    weights[:11] = 0.5  # nine are trusted
    few = Noise(2.0, 1.0).refitted(counts, errors, weights)
    assert few == Noise(1e3, pytest.approx(weights @ errors / (weights @ counts)))
    alike = Noise(2.0, 1.0).refitted(counts, errors, np.ones(20), alike=True)
    assert alike == Noise(1e3, pytest.approx(errors.mean() / 5))
    weights[10] = 1.0
    assert Noise(2.0, 1.0).refitted(counts, errors, weights).shape < 1e3
    assert Noise(2.0, 1.0).refitted(counts, errors, np.zeros(20)) == Noise(2.0, 1.0)
    assert Noise(2.0, 1.0).refitted(np.zeros(3), np.zeros(3), np.ones(3)) == Noise(1e3, 1.0)


def test_a_rater_is_told_by_the_items_or_by_the_own_mean():
    rng = np.random.default_rng(0)
    rows = np.repeat([0, 1, 3], [8, 5, 1])
    y, residuals = rng.normal(size=14), 0.3 * rng.normal(size=14)
    found = evidence(rows, 4, y, residuals, 0.01, 0.2)
    for rater in range(4):
        mine = rows == rater
        n = mine.sum()
        if n > 1:
            others = [np.delete(y[mine], k).mean() for k in range(n)]  # each left out in its turn
            alone = ((y[mine] - others) ** 2).sum()
        else:
            alone = 0.0
        left = (residuals[mine] ** 2).sum()
        more = 0.01 * n + 0.2
        assert found[rater] == pytest.approx(n / 2 * np.log((alone + more) / (left + more)))


def test_the_share_of_spammers_is_the_likeliest():
    evidences = np.array([5.0, 5.0, 5.0, -5.0, -6.0, 40.0, 1e4, -1e4])
    seen = np.array([True] * 7 + [False])
    likely, share = suspicion(evidences, seen, 0.05)
    np.testing.assert_allclose(likely[[0, 5, 6]], 0, atol=0.02)
    assert likely[3:5].min() > 0.9
    assert likely[7] == pytest.approx(1)
    again, same = suspicion(evidences, seen, share)
    np.testing.assert_allclose(again, likely, atol=1e-4)
    assert same == pytest.approx((likely[seen].sum() + 0.5) / 8, rel=1e-3)
    assert suspicion(np.full(9, 50.0), np.ones(9, bool), 0.05)[1] == pytest.approx(0.05)
    assert suspicion(np.full(9999, 50.0), np.ones(9999, bool), 0.05)[1] == 1e-4
    assert suspicion(np.full(9, -50.0), np.ones(9, bool), 0.05)[1] == 0.5


# ------------------------------------------------------------------------ beliefs


def test_newcomers_are_believed_what_the_prior_says():
    precision = np.array([2.0, 4.0])
    some = Beliefs(np.ones((2, 2)), np.ones((2, 2, 2)))
    more = some.with_more(5, precision)
    np.testing.assert_array_equal(more.mean, [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_allclose(more.cov[2:], np.broadcast_to(np.diag([0.5, 0.25]), (3, 2, 2)))
    np.testing.assert_array_equal(more.cov[:2], 1)
    changed = more.with_rows([4, 0], Beliefs(np.full((2, 2), 7.0), np.zeros((2, 2, 2))))
    assert changed.mean[:, 0].tolist() == [7, 1, 0, 0, 7]
    assert not changed.cov[[0, 4]].any()
    assert more.mean[0, 0] == 1  # the old ones stay as they are


def test_biases_are_centred_and_precisions_are_of_mean_squares():
    rng = np.random.default_rng(0)
    some = Beliefs(rng.normal(size=(6, 3)), np.stack([np.diag([0.1, 0.2, 0.3])] * 6))
    weight = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    centred, center = some.centred(weight)
    assert center == pytest.approx(np.average(some.mean[:, 0], weights=weight))
    assert weight @ centred.mean[:, 0] == pytest.approx(0)
    np.testing.assert_array_equal(centred.mean[:, 1:], some.mean[:, 1:])
    assert some.centred(np.zeros(6))[1] == 0
    squares = some.mean**2 + [0.1, 0.2, 0.3]
    np.testing.assert_allclose(
        some.precision(weight), 1 / np.average(squares, axis=0, weights=weight)
    )
    np.testing.assert_array_equal(some.precision(np.zeros(6)), np.ones(3))
    nothing = Beliefs(np.zeros((2, 2)), np.zeros((2, 2, 2)))
    np.testing.assert_allclose(nothing.precision(np.ones(2)), 1e9)


# ------------------------------------------------------------------------ sweeps


def planted(seed=0, n=25, m=15):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, m), density=0.6, rng=rng, format="csr")
    noise = np.repeat(np.exp(rng.normal(size=n)), np.diff(X.indptr))
    X.data = 3 + noise * rng.normal(size=len(X.data))
    scale = Scale.of(X.data)
    return Pattern.of(X, scale), RatingState.begun(scale, n, m, 2, seed), X


def test_ratings_by_users_and_by_items_are_the_same_ratings():
    pattern, state, X = planted()
    y = (X.data - state.scale.center) / state.scale.unit
    np.testing.assert_allclose(pattern.X.data, y)
    dense = np.zeros(X.shape)
    dense[X.nonzero()] = y
    there = np.zeros(X.shape)
    there[X.nonzero()] = 1
    by_users = pattern.of_users(y, [3, 1])
    np.testing.assert_allclose(by_users.values.toarray(), dense[[3, 1]])
    np.testing.assert_allclose(by_users.weights.toarray(), there[[3, 1]])
    np.testing.assert_allclose(by_users.squares, (dense**2).sum(axis=1)[[3, 1]])
    weights = np.arange(1.0, 26)
    by_items = pattern.of_items(y, weights, [4, 0, 2])
    np.testing.assert_allclose(by_items.weights.toarray(), (there * weights[:, None]).T[[4, 0, 2]])
    np.testing.assert_allclose(by_items.values.toarray(), (dense * weights[:, None]).T[[4, 0, 2]])
    np.testing.assert_allclose(
        by_items.squares, (dense**2 * weights[:, None]).sum(axis=0)[[4, 0, 2]]
    )


def test_a_sweep_is_users_then_noises_then_items_then_priors():
    """Every step again, from the functions that are tested above."""
    pattern, state, X = planted()
    state = replace(state, level=0.1, n_sweeps=5, suspicions=np.linspace(0, 0.9, 25))
    after = swept(state, pattern, robust=True)
    y, counts = pattern.X.data - 0.1, np.diff(X.indptr).astype(float)
    found, errors = updated(pattern.of_users(y), state.items, state.user_prior, state.precisions)
    trusted = 1 - state.suspicions
    errors = np.maximum(errors, counts * state.scale.least_noise)
    noise = state.noise.refitted(counts, errors, trusted)
    assert after.noise == noise
    np.testing.assert_allclose(after.precisions, noise.of_raters(counts, errors))
    users, more = found.centred(trusted)
    np.testing.assert_allclose(after.users.mean, users.mean)
    np.testing.assert_allclose(after.user_prior, users.precision(trusted))
    weights = trusted * after.precisions
    learned = updated(
        pattern.of_items(y - more, weights), users, state.item_prior, np.ones(15)
    ).beliefs
    items, still_more = learned.centred(np.ones(15))
    np.testing.assert_allclose(after.items.mean, items.mean)
    np.testing.assert_allclose(after.item_prior, items.precision(np.ones(15)))
    rows = np.repeat(np.arange(25), np.diff(X.indptr))
    now = told(pattern.X, users, items)
    left = y - more - still_more - now
    level = 0.1 + more + still_more + np.average(left, weights=weights[rows])
    assert after.level == pytest.approx(level)
    before = 0.1 + told(pattern.X, state.users, state.items)
    assert after.moved == pytest.approx(np.sqrt(np.mean((level + now - before) ** 2)))
    assert after.n_sweeps == 6
    assert (after.suspicions != state.suspicions).any()
    trusting = swept(state, pattern, robust=False)
    np.testing.assert_array_equal(trusting.suspicions, state.suspicions)


def test_raters_are_told_apart_from_the_third_sweep_on():
    pattern, state, _ = planted()
    for sweep in range(1, 5):
        state = swept(state, pattern, robust=True)
        assert bool(state.suspicions.any()) == (sweep >= 3)
    _, state, _ = planted()
    for before, alike in ((2, True), (3, False)):
        after = swept(replace(state, n_sweeps=before), pattern, robust=False)
        assert (after.noise.shape == 1e3) == alike


def test_more_ratings_change_those_who_gave_and_got_them_alone():
    pattern, state, _ = planted()
    state = swept(swept(state, pattern, True), pattern, True)
    users, items = np.array([2, 5]), np.array([1, 7, 9])
    after = caught_up(state, pattern, users, items)
    others, rest = np.delete(np.arange(25), users), np.delete(np.arange(15), items)
    np.testing.assert_array_equal(after.users.mean[others], state.users.mean[others])
    np.testing.assert_array_equal(after.items.mean[rest], state.items.mean[rest])
    np.testing.assert_array_equal(after.precisions[others], state.precisions[others])
    assert (after.users.mean[users] != state.users.mean[users]).all()
    y = pattern.X.data - state.level
    weights = (1 - after.suspicions) * after.precisions
    expected = updated(
        pattern.of_items(y, weights, items), after.users, after.item_prior, np.ones(3)
    ).beliefs
    np.testing.assert_allclose(after.items.mean[items], expected.mean)


def test_a_newcomer_who_rates_as_somebody_is_believed_as_much():
    pattern, state, X = planted()
    for _ in range(6):
        state = swept(state, pattern, True)
    found = newcomers(state, X)
    counts = np.diff(X.indptr).astype(float)
    precisions = np.full(25, 1 / state.noise.variance)
    y = pattern.X.data - state.level
    for _ in range(3):
        beliefs, errors = updated(pattern.of_users(y), state.items, state.user_prior, precisions)
        precisions = state.noise.of_raters(
            counts, np.maximum(errors, counts * state.scale.least_noise)
        )
    np.testing.assert_allclose(found.mean, beliefs.mean)
    np.testing.assert_allclose(found.cov, beliefs.cov)


def test_of_strangers_nothing_is_known():
    _, state, _ = planted()
    state = replace(state, level=0.5)
    state.users.mean[:] = 1.0
    state.items.mean[:] = 2.0
    found = state.predicted(np.array([0, -1, 3, -1]), np.array([1, 1, -1, -1]))
    np.testing.assert_allclose(found, [0.5 + 1 + 2 + 4, 0.5 + 2, 0.5 + 1, 0.5])
    room = state.with_room(27, 16)
    assert room.users.mean.shape == (27, 3)
    assert room.items.mean.shape == (16, 3)
    np.testing.assert_allclose(room.precisions[25:], 1 / state.noise.variance)
    assert room.suspicions[25:].tolist() == [0, 0]


# ------------------------------------------------------------------------ tables


def test_ratings_come_as_triples_frames_and_matrices():
    frame = pd.DataFrame({"u": TRIPLES[0], "i": TRIPLES[1], "r": TRIPLES[2], "when": 0})
    for given in (TRIPLES, [*TRIPLES, [0, 0, 0, 0]], frame):
        users, items, values = triples_of(given)
        assert users.tolist() == TRIPLES[0]
        assert items.tolist() == TRIPLES[1]
        assert values.tolist() == TRIPLES[2]
    stored = sparse.csr_array(([0.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    users, items, values = triples_of(stored)
    assert (users.tolist(), items.tolist(), values.tolist()) == ([0, 1], [1, 0], [0, 2])
    dense = np.array([[0.0, np.nan], [2.0, 0.0]])
    assert triples_of(dense).values.tolist() == [2]
    left_out = triples_of((["a", "b"], [1, 2], [np.nan, 5.0]))
    assert left_out.users.tolist() == ["b"]


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (np.ones(3), "an array of 1 dimensions"),
        (5, "got int"),
        (np.ones((3, 0)), "there is no item"),
        (np.array([["a", "b"]]), "Ratings are numbers"),
        (np.array([[1j, 2]]), "Complex data not supported"),
        (([None, "a"], [1, 2], [1, 2]), "1 of the ratings do not tell of a user"),
        (([1, 2], [np.nan, 2.0], [1, 2]), "1 of the ratings do not tell of an item"),
        (([pd.NA, "a"], [1, 2], [1, 2]), "tell of a user"),
        (([1], [1], [1.1e150]), "must not exceed 1e"),
        (([1], [1], [-1.1e150]), "must not exceed 1e"),
    ],
)
def test_what_is_no_table_of_ratings(X, says):
    with pytest.raises((ValueError, TypeError), match=says):
        triples_of(X)
    assert triples_of(([1], [1], [1e150])).values[0] == 1e150


def test_a_matrix_may_be_empty_of_newcomers_alone():
    assert matrix_of(sparse.csr_array((2, 3)), may_be_empty=True).nnz == 0
    with pytest.raises(ValueError, match="no rating"):
        matrix_of(sparse.csr_array((2, 3)))


def test_pairs():
    frame = pd.DataFrame({"u": [1, 2], "i": [3, 4], "r": [5, 6]})
    for given in (([1, 2], [3, 4]), frame, [[1, 2], [3, 4], [5, 6]]):
        users, items = pairs_of(given)
        assert (list(users), list(items)) == ([1, 2], [3, 4])
    for bad in (([1, 2], [3]), ([1],), ([[1]], [[2]]), 5):
        with pytest.raises(ValueError, match="Give pairs as"):
            pairs_of(bad)


def test_names_are_numbered_as_they_come():
    names = Names(["b", "a"])
    more = names.with_more(np.array(["a", "d", "c", "d"]))
    assert more.ids == ["b", "a", "c", "d"]
    assert names.with_more(np.array(["a"])) is names
    assert len(more) == 4
    assert more.numbers(np.array(["d", "x", "b"])).tolist() == [3, -1, 0]
    assert more.numbers(np.array([])).tolist() == []
    assert more.array().dtype.kind == "U"
    assert Names([3, 1]).array().dtype.kind == "i"
    mixed = Names([3, "a"])
    assert mixed.array().tolist() == [3, "a"]
    assert mixed.array().dtype == object
    unordered = np.array([3, "a", 3, (1, 2)], dtype=object)
    assert Names().with_more(unordered).ids == [3, "a", (1, 2)]
    assert mixed.numbers(unordered).tolist() == [0, 1, 0, -1]


def test_the_last_rating_of_a_pair_takes_the_place_of_older_ones():
    kept, users, items = KeptRatings.none().with_more(triples_of(TRIPLES))
    assert kept.X.toarray().tolist() == [[1, 3], [2, 0], [0, 4]]
    more = (["c", "d", "d", "a"], [7, 9, 9, 9], [5.0, 6.0, 7.0, 0.0])
    kept, users, items = kept.with_more(triples_of(more))
    assert kept.users.ids == ["a", "b", "c", "d"]
    assert kept.X.toarray().tolist() == [[1, 0], [2, 0], [5, 4], [0, 7]]
    assert kept.X.nnz == 6  # a zero is a rating
    assert users.tolist() == [0, 2, 3]
    assert items.tolist() == [0, 1]
    whole = KeptRatings.of(sparse.csr_array((np.ones(1), ([1], [2])), shape=(3, 4)))
    assert (whole.users.ids, whole.items.ids) == ([0, 1, 2], [0, 1, 2, 3])
    more = whole.with_more(triples_of(([0], [0], [7.0])))[0]
    assert more.X.shape == (3, 4)  # the last user has rated nothing yet
    assert more.X.toarray().sum(axis=1).tolist() == [7, 1, 0]


def test_files_of_ratings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("who,what,stars\n1,x,3\n\n2,y,\n03,z,4.5\n")
    (users, items, values), names = read_ratings(path)
    assert (users, items, names) == (["1", "2", "03"], ["x", "y", "z"], ["who", "what", "stars"])
    assert values[0] == 3
    assert np.isnan(values[1])
    path.write_text("1,7,3,extra\n2,8,4,more\n")
    (users, items, values), names = read_ratings(path)
    assert (users, items, values) == ([1, 2], [7, 8], [3.0, 4.0])
    assert names == ["user", "item", "rating"]
    path.write_text("who,what,stars\n1,x,3\n2,y,good\n")
    with pytest.raises(ValueError, match="'good' for a rating, in its row 2 after the header"):
        read_ratings(path)
    for text in ("a,b\n1,2\n", ""):
        path.write_text(text)
        with pytest.raises(ValueError, match="needs three columns"):
            read_ratings(path)
    frame = pd.DataFrame({"u": ["a"], "i": [1], "r": [2.5], "t": [0]})
    for kind in ("parquet", "feather"):
        getattr(frame, f"to_{kind}")(tmp_path / f"a.{kind}")
        found, names = read_ratings(tmp_path / f"a.{kind}")
        assert (*found, names) == (["a"], [1], [2.5], ["u", "i", "r"])
    frame[["u", "i"]].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="needs three columns"):
        read_ratings(tmp_path / "b.parquet")


# ------------------------------------------------------------------------ the model


def test_what_was_learned_is_in_the_unit_of_the_ratings(model):
    state, scale = model._state, model._state.scale
    assert model.mean_ == pytest.approx(scale.center + scale.unit * state.level)
    np.testing.assert_allclose(model.user_bias_, scale.unit * state.users.mean[:, 0])
    np.testing.assert_allclose(model.item_bias_, scale.unit * state.items.mean[:, 0])
    np.testing.assert_allclose(model.components_, state.items.mean[:, 1:].T)
    np.testing.assert_allclose(model.user_noise_, scale.unit / np.sqrt(state.precisions))
    assert model.n_iter_ == 5
    assert model.n_features_in_ == 20
    assert model.n_ratings_seen_ == model._kept.X.nnz
    assert model.get_feature_names_out().tolist() == ["bias", "taste0", "taste1"]
    users, items = np.meshgrid(np.arange(30), np.arange(20), indexing="ij")
    codes = scale.unit * state.users.mean
    all_pairs = model.predict((users.ravel(), items.ravel())).reshape(30, 20)
    np.testing.assert_allclose(model.inverse_transform(codes), all_pairs)
    assert all_pairs.min() >= 1
    assert all_pairs.max() <= 5
    with pytest.raises(ValueError, match="Codes have 3 columns"):
        model.inverse_transform(codes[:, :2])
    likely = np.zeros(30)
    likely[[4, 7]] = 0.51, 0.5
    held, model._state = model._state, replace(state, suspicions=likely)
    assert model.suspicious_users_.tolist() == [4]
    model._state = held


def test_recommended_are_the_best_that_were_not_rated(model):
    rated = model._kept.X
    found = model.recommend([3, 0], n=30)
    for row, user in enumerate((3, 0)):
        unseen = np.setdiff1d(
            np.arange(20), rated.indices[rated.indptr[user] : rated.indptr[user + 1]]
        )
        told_them = model.predict((np.full(len(unseen), user), unseen))
        n = len(unseen)
        assert set(found.items[row][:n].tolist()) == set(unseen.tolist())
        np.testing.assert_allclose(found.ratings[row][:n], np.sort(told_them)[::-1])
        assert np.isnan(found.ratings[row][n:]).all()
        assert all(item is None for item in found.items[row][n:])
    assert found.items.shape == (2, 20)
    one = model.recommend(n=1)
    assert one.items.shape == (30, 1)
    new = model.recommend(n=2, ratings=rated[:4])
    assert new.users.tolist() == [0, 1, 2, 3]


def test_every_number_of_a_file_comes_back(model, tmp_path):
    state = model._state
    odd = replace(
        state, level=0.3, share=0.2, moved=0.7, n_sweeps=9, noise=Noise(2.0, 0.4),
        scale=Scale(2.9, 1.1, 0.5, 5.5, 0.25), user_prior=state.user_prior * 2,
        suspicions=np.linspace(0, 1, 30),
    )  # fmt: skip
    other = RatingModel(2, max_iter=5, tol=0, random_state=0, verbose=0)._adopt(model._kept, odd)
    thresher.save(other, tmp_path / "a")
    again = thresher.load(tmp_path / "a")._state
    for name, value in vars(odd).items():
        found = getattr(again, name)
        if isinstance(value, Beliefs):
            np.testing.assert_array_equal(found.mean, value.mean)
            np.testing.assert_array_equal(found.cov, value.cov)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found, value, err_msg=name)
        else:
            assert found == value, name


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("suspicions", np.linspace(0, 1.01, 30), "between 0 and 1"),
        ("suspicions", np.linspace(-0.01, 1, 30), "between 0 and 1"),
        ("precisions", np.linspace(0, 1, 30), "positive"),
        ("user_prior", np.zeros(3), "positive"),
        ("item_prior", -np.ones(3), "positive"),
        ("user_ids", np.zeros(30, np.int64), "users have one id each"),
        ("item_ids", np.zeros(20, np.int64), "items have one id each"),
    ],
)
def test_arrays_of_a_stranger_are_not_believed(name, value, says, model):
    arrays, document = pack_ratings(model)
    document["class"] = "RatingModel"
    unpack_ratings(Contents(arrays, document, "ratings.thr"))
    with pytest.raises(FileError, match=says):
        unpack_ratings(Contents(arrays | {name: value}, document, "ratings.thr"))


def test_heads_of_a_stranger_have_to_add_up(model):
    arrays, document = pack_ratings(model)
    document["class"] = "RatingModel"
    heads = arrays["heads"]
    for change in ({0: 1}, {-1: heads[-1] - 1}, {1: heads[2] + 1}):
        wrong = heads.copy()
        for place, value in change.items():
            wrong[place] = value
        with pytest.raises(FileError, match="do not add up"):
            unpack_ratings(Contents(arrays | {"heads": wrong}, document, "ratings.thr"))
    twice = arrays["rated"].copy()
    twice[1] = twice[0]
    with pytest.raises(FileError, match="rated twice by one user"):
        unpack_ratings(Contents(arrays | {"rated": twice}, document, "ratings.thr"))
    for share in (0.0, 1.0):
        with pytest.raises(FileError, match="positive"):
            unpack_ratings(Contents(arrays, document | {"share": share}, "ratings.thr"))


def test_ids_of_other_kinds_are_not_saved(tmp_path):
    odd = RatingModel(1, random_state=0, verbose=0).fit(([1.5, 2.5], [1, 2], [1, 2]))
    with pytest.raises(ValueError, match="ids that are whole numbers or texts"):
        thresher.save(odd, tmp_path / "a")
    with pytest.raises(ValueError, match="has not seen a rating"):
        thresher.save(RatingModel(), tmp_path / "a")


def test_noise_is_normal_in_the_unit_of_raters():
    """The likeliest shape meets its equation, at both ends of what is allowed too."""
    rng = np.random.default_rng(0)
    counts = np.full(500, 40.0)
    same = rng.chisquare(40, 500)  # all with noise one: as alike as can be
    noise = Noise(5.0, 1.0)
    for _ in range(40):
        noise = noise.refitted(counts, same, np.ones(500))
    assert noise.shape > 50
    assert noise.variance == pytest.approx(1, rel=0.05)
    wild = rng.chisquare(40, 500) * np.exp(3 * stats.norm.rvs(size=500, random_state=0))
    for _ in range(40):
        noise = noise.refitted(counts, wild, np.ones(500))
    assert noise.shape == 0.5
