"""Ratings: beliefs are those of Bayes, truth is found, spam does not count, nothing is lost."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator
from typer.testing import CliRunner

import thresher
from thresher import RatingModel, load, save
from thresher.cli import app
from thresher.datasets import make_ratings
from thresher.persistence import Contents, FileError
from thresher.tasks.ratings.beliefs import Beliefs, Ratings, leverages, told, updated
from thresher.tasks.ratings.beside import by_means
from thresher.tasks.ratings.file import pack_ratings, unpack_ratings
from thresher.tasks.ratings.raters import Noise

QUIET = {"random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def made():
    return make_ratings(150, 80, 10_000, 2, random_state=1)


@pytest.fixture(scope="module")
def model(made):
    return RatingModel(4, **QUIET).fit(made[:3])


def beliefs(rng, n, P):
    roots = 0.3 * rng.standard_normal((n, P, P))
    return Beliefs(rng.standard_normal((n, P)), roots @ roots.transpose(0, 2, 1))


def test_beliefs_of_users_are_the_posterior_given_certain_items():
    """Without doubts about the items it is ridge regression, which NumPy solves another way."""
    rng = np.random.default_rng(0)
    items = Beliefs(rng.standard_normal((12, 3)), np.zeros((12, 3, 3)))
    X = sparse.random_array((5, 12), density=0.6, rng=rng, format="csr")
    X.data = rng.standard_normal(len(X.data))
    ones = sparse.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    squares = np.asarray((X * X).sum(axis=1)).ravel()
    prior, noise = np.array([2.0, 1.0, 3.0]), rng.uniform(0.5, 2, 5)
    found, errors = updated(Ratings(ones, X, squares), items, prior, noise)
    for u in range(5):
        seen = X.indices[X.indptr[u] : X.indptr[u + 1]]
        phi = np.column_stack([np.ones(len(seen)), items.mean[seen, 1:]])
        y = X.data[X.indptr[u] : X.indptr[u + 1]] - items.mean[seen, 0]
        stacked = np.vstack([np.sqrt(noise[u]) * phi, np.diag(np.sqrt(prior))])
        target = np.append(np.sqrt(noise[u]) * y, np.zeros(3))
        expected = np.linalg.lstsq(stacked, target, rcond=None)[0]
        np.testing.assert_allclose(found.mean[u], expected, atol=1e-10)
        np.testing.assert_allclose(found.cov[u], np.linalg.inv(stacked.T @ stacked), atol=1e-10)
        spread = np.einsum("np,pq,nq->", phi, found.cov[u], phi)
        np.testing.assert_allclose(errors[u], ((y - phi @ expected) ** 2).sum() + spread)


def test_doubts_about_items_enter_as_expectations():
    """Sums over ratings are means over draws of the items."""
    rng = np.random.default_rng(1)
    items = beliefs(rng, 4, 3)
    X = sparse.csr_array(rng.standard_normal((1, 4)))
    ones = sparse.csr_array(np.ones((1, 4)))
    prior, noise = np.ones(3), np.array([1.5])
    found, errors = updated(Ratings(ones, X, np.array([(X.data**2).sum()])), items, prior, noise)
    draws = np.stack(
        [rng.multivariate_normal(m, c, 200_000) for m, c in zip(*items, strict=True)], axis=1
    )
    phi = draws.copy()
    phi[:, :, 0] = 1
    G = np.einsum("dnp,dnq->pq", phi, phi) / len(draws)
    g = np.einsum("dnp,dn->p", phi, X.data - draws[:, :, 0]) / len(draws)
    expected = np.linalg.solve(np.eye(3) + 1.5 * G, 1.5 * g)
    np.testing.assert_allclose(found.mean[0], expected, atol=0.02)
    residuals = X.data - draws[:, :, 0] - phi @ found.mean[0]
    spread = np.einsum("dnp,pq,dnq->d", phi, found.cov[0], phi)
    np.testing.assert_allclose(
        errors[0], (residuals**2).sum(axis=1).mean() + spread.mean(), rtol=0.02
    )


def test_predictions_and_leverages_are_taken_at_the_ratings_alone():
    rng = np.random.default_rng(2)
    users, items = beliefs(rng, 6, 3), beliefs(rng, 7, 3)
    X = sparse.random_array((6, 7), density=0.5, rng=rng, format="csr")
    rows, columns = X.nonzero()
    u, v = users.mean[rows], items.mean[columns]
    np.testing.assert_allclose(
        told(X, users, items), u[:, 0] + v[:, 0] + (u[:, 1:] * v[:, 1:]).sum(axis=1)
    )
    of_user, of_item = leverages(X, users, items)
    u[:, 0] = v[:, 0] = 1
    np.testing.assert_allclose(of_user, np.einsum("np,npq,nq->n", v, users.cov[rows], v))
    np.testing.assert_allclose(of_item, np.einsum("np,npq,nq->n", u, items.cov[columns], u))


def test_the_noises_of_raters_are_told_from_their_errors():
    rng = np.random.default_rng(3)
    precisions = rng.gamma(4.0, 1 / (4.0 * 0.5), 3000)  # shape 4, mean 2
    counts = np.full(3000, 30.0)
    errors = rng.chisquare(30, 3000) / precisions
    noise = Noise(1.0, 1.0)
    for _ in range(60):
        noise = noise.refitted(counts, errors, np.ones(3000))
    assert abs(noise.shape - 4) < 0.5
    assert abs(noise.variance - 0.5) < 0.03


def test_what_was_not_rated_is_told_nearly_as_well_as_it_can_be(made, model):
    rng = np.random.default_rng(4)
    hidden = rng.random(len(made.ratings)) < 0.2
    shown = tuple(column[~hidden] for column in made[:3])
    pairs = made.users[hidden], made.items[hidden]
    found = RatingModel(4, **QUIET).fit(shown)
    truth = made.ratings[hidden]
    error = np.sqrt(np.mean((found.predict(pairs) - truth) ** 2))
    best = np.sqrt(np.mean((made.expected[pairs].clip(1, 5) - truth) ** 2))
    bias = found.mean_ + found.user_bias_[found._kept.users.numbers(pairs[0])]
    bias = bias + found.item_bias_[found._kept.items.numbers(pairs[1])]
    assert error < best + 0.5 * (np.sqrt(np.mean((bias.clip(1, 5) - truth) ** 2)) - best)
    assert abs(-found.score((*pairs, truth)) - error) < 1e-12


def test_spammers_are_found_and_do_not_count():
    kinder = make_ratings(150, 80, 4000, 2, random_state=5)
    rng = np.random.default_rng(0)
    liars = [(np.full(40, 150 + k), rng.permutation(80)[:40]) for k in range(15)]
    users, items = (np.concatenate(column) for column in zip(*liars, strict=True))
    values = np.where(users % 2 == 0, 1.0, 5.0)
    given = tuple(
        np.concatenate(pair) for pair in zip(kinder[:3], (users, items, values), strict=True)
    )
    clean, robust, naive = (
        RatingModel(4, robust=robust, **QUIET).fit(data)
        for robust, data in ((True, kinder[:3]), (True, given), (False, given))
    )
    assert (np.sort(robust.suspicious_users_)[-15:] == np.arange(150, 165)).all()
    assert len(robust.suspicious_users_) <= 18
    assert len(naive.suspicious_users_) == 0
    order = robust._kept.items.numbers(clean.items_)
    moved, moved_more = (
        np.abs(other.item_bias_[order] - clean.item_bias_).mean() for other in (robust, naive)
    )
    assert moved < 0.35 * moved_more


def test_nothing_depends_on_the_unit_or_on_the_names(made, model):
    told_first = model.predict(made[:2])
    scaled = RatingModel(4, **QUIET).fit((made.users, made.items, 20 * made.ratings - 7))
    np.testing.assert_allclose(scaled.predict(made[:2]), 20 * told_first - 7, rtol=1e-8)
    names = (
        np.array([f"u{user}" for user in made.users]),
        np.array([f"i{item:03}" for item in made.items]),
    )
    frame = pd.DataFrame({"who": names[0], "what": names[1], "stars": made.ratings, "when": 0})
    framed = RatingModel(4, **QUIET).fit(frame)
    assert framed.predict(frame).shape == (len(frame),)
    assert set(framed.users_) == set(names[0])
    X = sparse.csr_array((made.ratings, made[:2]), shape=(150, 80))
    matrix = RatingModel(4, **QUIET).fit(X)
    dense = RatingModel(4, **QUIET).fit(X.toarray())
    np.testing.assert_array_equal(dense.predict(made[:2]), matrix.predict(made[:2]))
    np.testing.assert_allclose(matrix.predict(made[:2]), told_first, atol=0.3)


def test_stored_zeros_are_ratings():
    X = sparse.csr_array(([0.0, 2.0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    model = RatingModel(1, **QUIET).fit(X)
    assert model.n_ratings_seen_ == 3
    assert model.recommend([0], 2).items.tolist() == [[None, None]]


def test_the_best_unseen_items_are_recommended(made, model):
    best = model.recommend(n=5)
    rated = set(zip(made.users.tolist(), made.items.tolist(), strict=True))
    pairs = [(u, i) for u, row in zip(best.users, best.items, strict=True) for i in row]
    assert not rated & set(pairs)
    assert (np.diff(best.ratings, axis=1) <= 1e-12).all()
    user = best.users[3]
    others = [i for i in model.items_ if (int(user), int(i)) not in rated]
    told_all = model.predict((np.full(len(others), user), np.array(others)))
    np.testing.assert_allclose(np.sort(told_all)[::-1][:5], best.ratings[3])
    np.testing.assert_array_equal(model.recommend([user], 5).items[0], best.items[3])


def test_new_users_are_told_without_learning(made, model):
    """As if they had been there: the same beliefs as those of a user with the same ratings."""
    state = model._state
    X = model._kept.X
    codes = model.transform(X)
    honest = np.diff(X.indptr) > 10
    known = state.scale.unit * state.users.mean
    # One sweep and its noises apart; a taste that explains next to nothing is told least.
    np.testing.assert_allclose(codes[honest], known[honest], atol=0.2)
    assert np.abs(codes - known)[honest].mean() < 0.02
    ratings = model.inverse_transform(codes[:2])
    best = model.recommend(ratings=X[:2], n=3)
    seen = X[[0]].indices
    free = np.setdiff1d(np.arange(X.shape[1]), seen)
    np.testing.assert_allclose(best.ratings[0], np.sort(ratings[0][free])[::-1][:3])
    assert model._state is state


def test_a_newcomer_may_have_rated_nothing_yet(model):
    nothing = sparse.csr_array((2, len(model.items_)))
    np.testing.assert_array_equal(model.transform(nothing), 0)
    popular = model.items_[model.item_bias_.argmax()]
    assert model.recommend(ratings=nothing, n=1).items.tolist() == [[popular], [popular]]


@pytest.mark.parametrize("nobody", [None, np.nan, pd.NA, pd.NaT])
def test_ratings_of_nobody_or_of_nothing_are_refused(nobody):
    ids, ratings = ["a", nobody, "c"], [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="1 of the ratings do not tell of a user"):
        RatingModel(2).fit((np.array(ids, dtype=object), [1, 2, 3], ratings))
    frame = pd.DataFrame({"user": [1, 2, 3], "item": ids, "rating": ratings})
    with pytest.raises(ValueError, match="1 of the ratings do not tell of an item"):
        RatingModel(2).fit(frame)
    with pytest.raises(ValueError, match="a user"):
        RatingModel(2).fit(([1.0, np.nan], [1, 2], [3.0, 4.0]))


def test_streams_end_near_a_fit_and_know_newcomers(made):
    first, rest = (tuple(c[:3000] for c in made[:3]), tuple(c[3000:] for c in made[:3]))
    model = RatingModel(4, **QUIET).fit(first)
    before = model.score(rest)
    for start in range(0, len(rest[0]), 200):
        model.partial_fit(tuple(column[start : start + 200] for column in rest))
    assert model.n_ratings_seen_ == len(made.ratings)
    whole = RatingModel(4, **QUIET).fit(made[:3])
    assert model.score(rest) > before
    assert model.score(made[:3]) > whole.score(made[:3]) - 0.05
    model.partial_fit((["a new one"] * 3, [0, 1, "new too"], [5, 5, 5]))
    assert model.users_[-1] == "a new one"
    assert "new too" not in model.recommend(["a new one"], 100).items


def test_of_a_pair_that_is_rated_twice_the_last_counts():
    twice = RatingModel(1, **QUIET).fit(([0, 0, 1, 0], [0, 1, 0, 0], [1.0, 3, 4, 5]))
    once = RatingModel(1, **QUIET).fit(([0, 0, 1], [0, 1, 0], [5.0, 3, 4]))
    np.testing.assert_array_equal(twice._kept.X.toarray(), once._kept.X.toarray())


def test_files_and_interruptions_lose_nothing(made, tmp_path, monkeypatch):
    whole = RatingModel(3, **QUIET).fit(made[:3])
    from thresher.tasks.ratings import model as module

    sweeps = []

    def interrupted(state, *rest):
        if len(sweeps) == 3:
            raise KeyboardInterrupt
        sweeps.append(1)
        return module_swept(state, *rest)

    module_swept = module.swept
    monkeypatch.setattr(module, "swept", interrupted)
    stopped = RatingModel(3, **QUIET)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(made[:3])
    monkeypatch.undo()
    assert stopped.n_iter_ == 3
    save(stopped, tmp_path / "model")
    again = load(tmp_path / "model").resume()
    np.testing.assert_array_equal(again.predict(made[:2]), whole.predict(made[:2]))
    texts = RatingModel(2, **QUIET).fit((["ä", "b"], ["x", "y"], [1, 2]))
    save(texts, tmp_path / "texts")
    assert load(tmp_path / "texts").users_.tolist() == ["b", "ä"]
    with pytest.raises(ValueError, match="make them texts"):
        save(RatingModel(1, **QUIET).fit(([1.5, 2.5], [0, 1], [1, 2])), tmp_path / "other")


@pytest.mark.parametrize(
    "X",
    [
        ([0], [0], [3]),  # one rating
        ([0, 1, 2], [0, 0, 0], [4, 4, 4]),  # all the same
        (np.arange(30), np.zeros(30, int), np.arange(30) % 5),  # one item
        (np.zeros(30, int), np.arange(30), np.arange(30) % 5),  # one user
        ([0, 1], [0, 1], [1e-25, 3e-25]),
        ([0, 1, 1], [0, 1, 0], [1e25, -3e25, 2e25]),
    ],
)
def test_small_and_strange_ratings_are_taken(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RatingModel(2, **QUIET).fit(X)
        told_all = model.predict((X[0], X[1]))
        assert np.isfinite(told_all).all()
        assert np.isfinite(model.predict(([99], [99]))).all()
        assert model.recommend(n=3).ratings.shape[0] == len(set(np.asarray(X[0]).tolist()))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (([0, 1], [0], [1, 2]), "one length"),
        (([0], [0], ["five"]), "numbers"),
        (([0], [0], [np.inf]), "finite"),
        (([0], [0], [np.nan]), "no rating"),
        (sparse.csr_array((3, 3)), "no rating"),
        (pd.DataFrame({"a": [1], "b": [2]}), "2 columns"),
        (np.array([[1j, 2]]), "numbers"),
    ],
)
def test_bad_ratings_are_refused_and_leave_the_model(model, made, X, message):
    before = model.predict(made[:2])
    for verb in (model.partial_fit, clone(model).fit):
        with pytest.raises(ValueError, match=message):
            verb(X)
    np.testing.assert_array_equal(model.predict(made[:2]), before)


def test_bad_questions_get_a_sentence(model):
    with pytest.raises(NotFittedError):
        RatingModel().predict(([0], [0]))
    with pytest.raises(TypeError, match="sparse matrix"):
        RatingModel().fit("ratings.csv")
    with pytest.raises(ValueError, match="not known"):
        model.recommend([10**6])
    with pytest.raises(ValueError, match="positive integer"):
        model.recommend(n=0)
    with pytest.raises(ValueError, match="a column for each"):
        model.transform(np.ones((1, 3)))
    with pytest.raises(ValueError, match="pairs"):
        model.predict([1, 2])
    with pytest.raises(ValueError, match="max_iter"):
        RatingModel(max_iter=0).fit(([0], [0], [1]))


def test_the_page_names_items_and_suspects(tmp_path):
    made = make_ratings(100, 40, 2500, 1, spam=0.1, random_state=2)
    model = thresher.RatingModel(2, **QUIET).fit(made[:3])
    page = model.report(tmp_path / "page.html").read_text()
    assert "Suspicious" in page
    assert "fit(ratings)" in page
    assert str(model.items_[np.argmax(model.item_bias_)]) in page


def test_ratings_that_cannot_be_squared_and_users_nobody_knows_have_their_own_sentences():
    users, items = np.arange(20) % 5, np.arange(20) % 7
    with pytest.raises(ValueError, match="must not exceed 1e"):
        RatingModel(verbose=0).fit((users, items, np.full(20, 1e200)))
    model = RatingModel(random_state=0, verbose=0).fit((users, items, np.arange(20) % 4))
    with pytest.raises(ValueError, match="User 999 is not known"):
        model.recommend([999])


def test_a_fit_that_ends_too_early_says_so_and_goes_on_from_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 30), density=0.5, rng=rng, format="csr")
    few = RatingModel(2, max_iter=2, tol=1e-6, random_state=0, verbose=0)
    with pytest.warns(ConvergenceWarning, match="ended after max_iter=2 sweeps, .* times") as told:
        few.fit(X)
    assert told[0].filename == __file__
    save(few, tmp_path / "few.thr")
    again = load(tmp_path / "few.thr").set_params(max_iter=500, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.resume()
        whole = RatingModel(2, max_iter=500, tol=1e-3, random_state=0, verbose=0).fit(X)
        RatingModel(2, max_iter=2, tol=0, random_state=0, verbose=0).fit(X)
    assert 2 < again.n_iter_ == whole.n_iter_ < 500
    assert np.array_equal(again.user_bias_, whole.user_bias_)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"moved": np.nan}, "moved"),
        ({"moved": -1.0}, "moved"),
        ({"moved": "far"}, "moved"),
        ({"share": 1.5}, "positive"),
        ({"n_sweeps": -1}, "n_sweeps"),
    ],
)
def test_a_file_of_a_stranger_is_not_believed(change, says, model):
    arrays, document = pack_ratings(model)
    document["class"] = "RatingModel"
    unpack_ratings(Contents(arrays, document, "ratings.thr"))
    with pytest.raises(FileError, match=says):
        unpack_ratings(Contents(arrays, document | change, "ratings.thr"))


# `predict` takes pairs of users and items, where these checks give it rows of samples.
OF_ROWS = {
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit2d_predict1d",
}


def test_scikit_learns_checks_pass_but_for_those_that_predict_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RatingModel(2, max_iter=3, verbose=0)
        results = check_estimator(model, on_skip=None, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == OF_ROWS
    assert sum(result["status"] == "passed" for result in results) > 25


def test_the_command_names_the_suspicious(made, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"u{u},i{i},{r}" for u, i, r in zip(*made[:3], strict=True)]
    rows += [f"liar{k},i{i},5" for k in range(10) for i in rng.permutation(80)[:40]]
    (tmp_path / "r.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    line = ["ratings", str(tmp_path / "r.csv"), str(tmp_path / "out.csv"), "--json"]
    done = CliRunner().invoke(app, [*line, "--n-components", "2"])
    assert done.exit_code == 0, done.output
    named = json.loads(done.stdout)["suspicious_users"]
    assert {f"liar{k}" for k in range(10)} <= set(named)
    assert len(named) <= 15


def test_the_page_compares_with_plain_means(made, model, tmp_path):
    users, items, ratings = (np.asarray(column) for column in made[:3])
    X = sparse.csr_array((ratings, (users, items)), shape=(150, 80))
    table = pd.DataFrame({"user": users, "item": items, "left": ratings - X.data.mean()})
    of_items = table.groupby("item")["left"].mean()
    table["left"] -= of_items[table["item"]].to_numpy()
    of_users = table.groupby("user")["left"].mean()
    pairs = users[:20], items[:20]
    expected = X.data.mean() + of_items[pairs[1]].to_numpy() + of_users[pairs[0]].to_numpy()
    np.testing.assert_allclose(by_means(X, *pairs), expected)
    before = model.predict(pairs)
    page = model.report(tmp_path / "page.html").read_text(encoding="utf-8")
    told = re.findall(r'<th scope="row">(RatingModel|means)</th><td>([\d.]+)</td>', page)
    assert [name for name, _ in told] == ["RatingModel", "means"]
    assert 0 < float(told[0][1]) < float(told[1][1])  # tastes were planted
    np.testing.assert_array_equal(model.predict(pairs), before)  # another one was fitted
