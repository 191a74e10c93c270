"""Steps of `thresher.choose` by themselves: masks, groups, warm starts, the order of time."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import thresher
from thresher import BatchNMF, OnlineL1Dictionary, OnlineRobustNMF
from thresher.tasks.choice import choosing, held_out, in_order, warm
from thresher.tasks.choice.candidates import all_settings, made, same_but_for_parts
from thresher.tasks.choice.choice import Choice, chosen, standard_errors
from thresher.tasks.choice.held_out import Tried, better, group_errors, masks
from thresher.tasks.choice.samples import held_rows

MODEL = OnlineRobustNMF(2, batch_size=64, random_state=0, verbose=1)


class Told:
    """A model whose errors are known: row i of the hidden ones is off by i."""

    def __init__(self):
        self.seeds = []

    def _entry_errors(self, test, share, rng):
        self.seeds.append(rng.random())
        rows = np.arange(test.shape[0])
        return rows, rows.astype(float)


# ------------------------------------------------------------------------ candidates


def test_combinations_have_the_numbers_of_parts_innermost_and_rising():
    found = all_settings(MODEL, {"n_components": (4, 2, 4), "outlier_weight": ["auto", 0.5]})
    assert [tuple(one.values()) for one in found] == [
        ("auto", 2), ("auto", 4), (0.5, 2), (0.5, 4),
    ]  # fmt: skip
    assert all_settings(MODEL, {"n_components": np.int64(3)}) == [{"n_components": 3}]
    (one,) = all_settings(MODEL, {"n_components": np.arange(2, 3)})
    assert type(one["n_components"]) is int
    assert all_settings(MODEL, {"outlier_weight": "mad"}) == [{"outlier_weight": "mad"}]
    assert all_settings(MODEL, {"forgetting": None}) == [{"forgetting": None}]


def test_a_candidate_is_a_silent_clone():
    model = made(MODEL, {"n_components": 3}, batch_size=7)
    assert (model.n_components, model.batch_size, model.verbose) == (3, 7, 0)
    assert (model.random_state, MODEL.n_components, MODEL.verbose) == (0, 2, 1)
    with pytest.raises(ValueError, match="n_components"):
        made(MODEL, {"n_components": 0})


def test_settings_that_differ_in_parts_alone():
    assert same_but_for_parts({"n_components": 2, "a": 1}, {"n_components": 3, "a": 1})
    assert not same_but_for_parts({"n_components": 2, "a": 1}, {"n_components": 2, "a": 2})


# ------------------------------------------------------------------------ errors


def test_each_mask_keeps_a_fifth_or_its_share():
    X = np.arange(40.0)[:, None]
    for n_masks, size in ((1, 8), (5, 8), (8, 5)):
        pairs = list(masks(X, n_masks, np.random.default_rng(0)))
        assert [len(test) for _, test in pairs] == [size] * n_masks
        assert all((np.diff(learn[:, 0]) > 0).all() for learn, _ in pairs)
    assert len(list(masks(X[:6], 3, np.random.default_rng(0)))) == 3
    with pytest.raises(ValueError, match="5 samples are too few for n_masks=3"):
        next(masks(X[:5], 3, np.random.default_rng(0)))


def test_errors_are_means_of_ten_groups_of_rows_hidden_three_times():
    model = Told()
    found = group_errors(model, np.zeros((20, 3)), 0.1, 4)
    np.testing.assert_allclose(found, 0.5 + 2 * np.arange(10))
    assert len(set(model.seeds)) == 3
    again = Told()
    group_errors(again, np.zeros((20, 3)), 0.1, 5)
    assert not set(again.seeds) & set(model.seeds)
    few = group_errors(Told(), np.zeros((5, 3)), 0.1, 4)
    assert np.isnan(few[1::2]).all()
    np.testing.assert_array_equal(few[::2], np.arange(5))


def test_a_fit_that_was_made_anew_counts_where_it_is_clearly_better():
    rng = np.random.default_rng(0)
    errors = np.append(1 + rng.random(9), np.nan)
    old = Tried(errors, "old", 2.0, "old")
    noise = np.append(rng.normal(size=9), 0)
    noise[:9] -= noise[:9].mean()
    edge = noise[:9].std() / np.sqrt(8)
    for gain, atoms in ((1.1 * edge, "new"), (0.9 * edge, "old"), (-1.0, "old")):
        new = Tried(errors - gain - noise, "new", 3.0, "new")
        found = better(old, new)
        assert (found.atoms, found.seconds) == (atoms, 5.0)


@pytest.mark.parametrize(
    ("n_samples", "size"), [(10_000, 64), (1024, 64), (960, 60), (512, 32), (100, 32)]
)
def test_few_samples_are_learned_from_in_smaller_batches(n_samples, size):
    assert held_out._small_batches(MODEL, {}, n_samples) == {"batch_size": size}
    assert held_out._small_batches(MODEL, {"batch_size": 512}, n_samples) == {}
    assert held_out._small_batches(BatchNMF(), {}, n_samples) == {}
    small = OnlineRobustNMF(2, batch_size=8)
    assert held_out._small_batches(small, {}, n_samples) == {"batch_size": 8}


def test_standard_errors_leave_gaps_out():
    values = np.array(
        [[1.0, 2.0, 4.0, np.nan], [3.0, np.nan, np.nan, np.nan], [1.0, 1.0, 1.0, 1.0]]
    )
    found = standard_errors(values)
    expected = np.std([1, 2, 4], ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(found, [expected, 0, 0], atol=1e-12)


# ------------------------------------------------------------------------ the choice


def test_a_choice_tells_how_far_each_candidate_is_behind():
    errors = np.array([[3.0, 5.0], [1.0, 2.0], [1.0, 2.5]])
    candidates = [{"n_components": k} for k in (2, 3, 4)]
    choice = Choice(candidates, errors, "lowest", {"seconds": np.ones(3)}, "Model")
    table = choice.table_
    np.testing.assert_allclose(table["error"], [4, 1.5, 1.75])
    np.testing.assert_allclose(table["behind"], [2.5, 0, 0.25])
    np.testing.assert_allclose(table["standard_error"], standard_errors(errors))
    np.testing.assert_allclose(table["behind_error"], standard_errors(errors - errors[1]))
    assert table["n_components"] == [2, 3, 4]
    assert list(table) == [
        "n_components", "error", "standard_error", "behind", "behind_error", "seconds",
    ]  # fmt: skip
    assert (choice.best_index_, choice.best_params_) == (1, {"n_components": 3})
    assert repr(choice) == "Choice(n_components=3; hidden entries are 1.5 off; 3 candidates)"
    np.testing.assert_array_equal(choice.errors_, errors)


def test_of_settings_with_the_same_parts_the_lowest_error_is_chosen():
    table = {
        "n_components": [2, 3, 2],
        "error": np.array([1.0005, 1.0, 1.0002]),
        "behind": np.array([0.0005, 0.0, 0.0002]),
        "behind_error": np.ones(3),
    }
    assert chosen(table, 1, "one_se") == 2
    assert chosen(table, 1, "lowest") == 1
    del table["n_components"]
    assert chosen(table, 1, "one_se") == 1


def test_stability_is_the_mean_over_pairs_of_masks():
    one, other = np.eye(3)[:2], np.eye(3)[1:]
    assert choosing._stability([one, one[::-1]]) == pytest.approx(1)
    assert np.isnan(choosing._stability([one]))
    three = choosing._stability([one, one, other])
    pair = choosing._stability([one, other])
    assert three == pytest.approx((1 + 2 * pair) / 3)


def test_interrupted_before_the_first_mask_there_is_no_choice(monkeypatch):
    def stops(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(choosing, "tried", stops)
    with pytest.raises(KeyboardInterrupt):
        thresher.choose(MODEL, np.ones((30, 4)), n_components=(1, 2), verbose=0)


def test_a_counter_moves_its_bar_one_by_one():
    seen = []
    counter = choosing._Counter(SimpleNamespace(update=seen.append))
    for _ in range(3):
        counter()
    assert seen == [1, 2, 3]


# ------------------------------------------------------------------------ warm starts


def test_the_best_of_rank_one_is_that_of_the_svd():
    rng = np.random.default_rng(0)
    E = np.outer(rng.random(30), rng.random(8)) + 0.01 * rng.normal(size=(30, 8))
    truth = np.linalg.svd(E)[2][0]
    for nonnegative, sign in ((False, 1), (True, 1), (False, -1)):
        c, d = warm._rank_one(sign * E, nonnegative, np.random.default_rng(1))
        assert abs(d @ truth) == pytest.approx(1, abs=1e-3)
        expected = sign * E @ d
        np.testing.assert_allclose(c, expected.clip(0) if nonnegative else expected, atol=1e-6)
        assert np.linalg.norm(d) == pytest.approx(1)
    c, d = warm._rank_one(-np.abs(E), True, np.random.default_rng(1))
    assert not c.any()  # nothing that is nonnegative explains it


class Says:
    """A model that says the same of every sample."""

    components_ = np.array([[3.0, 0, 0, 0, 0, 0], [0, 4.0, 0, 0, 0, 0]])

    def transform(self, X):
        return np.ones((len(X), 1))

    def inverse_transform(self, codes):
        return np.repeat(codes, 6, axis=1)


def test_residuals_are_clipped_at_what_noise_could_be():
    rng = np.random.default_rng(0)
    X = 1 + rng.normal(size=(40, 6))
    X[3, 3], X[4, 4] = 500, np.nan
    E = warm._residuals(Says(), X, np.random.default_rng(1))
    sizes = np.abs(X - 1)
    limit = 3 * 1.4826 * np.median(sizes[~np.isnan(sizes)])
    np.testing.assert_allclose(E, np.clip(np.nan_to_num(X - 1), -limit, limit))
    np.testing.assert_allclose(warm._residuals(Says(), np.ones((5, 6)), rng), 0)
    many = warm._residuals(Says(), np.ones((600, 6)), rng)
    assert many.shape == (512, 6)
    np.testing.assert_allclose(
        warm._residuals(Says(), sparse.csr_array(X), np.random.default_rng(1))[0], E[0]
    )


def test_warm_settings_are_for_models_that_start_by_name():
    rng = np.random.default_rng(0)
    X = rng.random((100, 6))
    before = OnlineRobustNMF(2, batch_size=32, random_state=0, verbose=0).fit(X)
    model = OnlineRobustNMF(3, batch_size=32, random_state=0, verbose=0)
    found = warm.warm_settings(model, before, X, rng)
    assert found["init"].shape == (3, 6)
    np.testing.assert_allclose(found["init"][:2], before.components_)
    size = np.median(np.linalg.norm(before.components_, axis=1))
    assert np.linalg.norm(found["init"][2]) == pytest.approx(size, rel=0.01)
    assert (found["init"][2] > 0).all()
    assert found["n_passes"] == 10  # forty steps at four a pass
    assert found.get("n_starts", 1) == 1
    long = warm.warm_settings(model.set_params(batch_size=1), before, X, rng)
    assert long["n_passes"] == 3
    model.set_params(n_passes=5)
    assert "n_passes" not in warm.warm_settings(model, before, X, rng)
    assert warm.warm_settings(model.set_params(init=found["init"]), before, X, rng) is None


# ------------------------------------------------------------------------ order and sources


def test_samples_in_batches_of_the_model():
    X = np.arange(10.0)[:, None]
    found = list(in_order.batches_of(X, OnlineRobustNMF(1, batch_size=4)))
    assert [batch[:, 0].tolist() for batch in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(list(in_order.batches_of(iter([X, X]), OnlineRobustNMF(1, batch_size=5)))) == 4


def test_progress_counts_samples_and_fits():
    X, seen = np.random.default_rng(0).random((50, 4)), []
    bar = SimpleNamespace(update=seen.append)
    model = OnlineRobustNMF(1, batch_size=17, random_state=0, verbose=0)
    alone = in_order.tried_in_order(
        model, [{"forgetting": None}, {"forgetting": 9}], X, 0.2, 0, bar
    )
    assert seen == [17, 34, 50]
    assert [one.model.forgetting for one in alone] == [None, 9]
    assert all(one.model.n_samples_seen_ == 50 for one in alone)
    done = []
    fits = held_out.tried(
        model, [{"n_components": 1}, {"n_components": 2}], X[:40], X[40:], 0.2, 0, True,
        lambda: done.append(1),
    )  # fmt: skip
    assert len(done) == 2
    assert [len(one.atoms) for one in fits] == [1, 2]


def test_forgetting_needs_three_batches():
    X = np.random.default_rng(0).random((50, 4))
    model = OnlineRobustNMF(1, batch_size=25, verbose=0)
    with pytest.raises(ValueError, match="three batches at least"):
        thresher.choose(model, X, forgetting=[None, 20], verbose=0)
    found = thresher.choose(model.set_params(batch_size=17), X, forgetting=[None, 20], verbose=0)
    assert found.errors_.shape == (2, 2)
    assert (found.table_["seconds"] > 0).all()


def test_a_stream_without_a_batch_is_empty():
    with pytest.raises(ValueError, match="empty"):
        held_rows(iter([]), MODEL)
    rows = held_rows(
        iter([sparse.csr_array(np.eye(3)), sparse.csr_array(np.eye(3))]), OnlineL1Dictionary(1)
    )
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), np.vstack([np.eye(3), np.eye(3)]))
