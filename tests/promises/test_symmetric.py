"""Symmetric Manhattan NMF: exact entries, planted embeddings, missing values, saved models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

import thresher
from thresher import StopAfter, SymmetricManhattanNMF


def _loss(X, H):
    return np.nansum(np.abs(X - H @ H.T))


def _theorem_3(a, v):
    """Minimum of Σ a|x − v| + x², by trying every piece (errata C.5)."""
    v, a = v[np.argsort(v)], a[np.argsort(v)]
    ends = np.concatenate([[-np.inf], v, [np.inf]])
    slopes = 2 * np.concatenate([[0.0], np.cumsum(a)]) - a.sum()
    points = np.clip(-slopes / 2, ends[:-1], ends[1:])
    values = (a * np.abs(points[:, None] - v)).sum(axis=1) + points**2
    return points[np.argmin(values)]


def _best_entry(X, H, j, c):
    """Errata C.6, literally: compare all that can be the minimum."""
    others = [k for k in range(H.shape[1]) if k != c]
    Z = X - H[:, others] @ H[:, others].T
    h = H[:, c]
    use = (np.arange(len(H)) != j) & (h > 0) & ~np.isnan(Z[j])
    v, a = Z[j, use] / h[use], 2 * h[use]
    candidates = [0.0, *v[v > 0]]
    root = np.sqrt(max(Z[j, j], 0.0)) if not np.isnan(Z[j, j]) else 0.0
    if not np.isnan(Z[j, j]):
        candidates += [root, max(root, _theorem_3(a, v))]
    G = np.repeat(H[None], len(candidates), axis=0)
    G[:, j, c] = candidates
    return min(_loss(X, each) for each in G)


def _random_problem(seed, gaps=True):
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.random((n, n)) * (rng.random((n, n)) < 0.8)
    if seed % 2:  # a diagonal that is worth fitting: the concave side
        X += np.diag(rng.random(n) * 5)
    if gaps and seed % 3 == 0:
        X[rng.random((n, n)) < 0.15] = np.nan
    H = rng.random((n, K)) * (rng.random((n, K)) < 0.8)
    return X + X.T, H


@given(st.integers(0, 10_000))
def test_each_entry_of_a_sweep_is_the_best_given_the_others(seed):
    X, H = _random_problem(seed)
    after = SymmetricManhattanNMF(init=H, max_iter=1, tol=0).fit(X).embedding_
    now = H.copy()
    for j, c in np.ndindex(*H.shape):
        lowest = _best_entry(X, now, j, c)
        now[j, c] = after[j, c]
        assert _loss(X, now) <= lowest + 1e-12 * np.nansum(X)
    assert _loss(X, after) <= _loss(X, H) + 1e-12 * np.nansum(X)
    # All other entries are final when the last one changes.
    grid = np.linspace(0, 2 * np.sqrt(np.nanmax(X)) + 1, 2001)
    G = np.repeat(after[None], len(grid), axis=0)
    G[:, -1, -1] = grid
    losses = np.nansum(np.abs(X - G @ G.transpose(0, 2, 1)), axis=(1, 2))
    assert _loss(X, after) <= losses.min() + 1e-12 * np.nansum(X)


def _planted(n=80, K=3, seed=0, wrong=0.1):
    rng = np.random.default_rng(seed)
    H = rng.random((n, K)) * (rng.random((n, K)) < 0.5)
    X = H @ H.T
    bad = np.triu(rng.random(X.shape) < wrong)
    X[bad] += 3 * rng.random(int(bad.sum()))
    return np.triu(X) + np.triu(X, 1).T, H


def test_objective_never_rises():
    X, _ = _planted()
    for init in ("squared_l2", "random"):
        model = SymmetricManhattanNMF(4, init=init, tol=0, max_iter=30, random_state=0).fit(X)
        losses = model.history_.column("loss")
        assert (np.diff(losses) <= 1e-12 * losses[0]).all()
        assert losses[-1] * len(X) == pytest.approx(_loss(X, model.embedding_))


def test_planted_similarities_survive_wrong_entries():
    X, H = _planted()
    fits = [SymmetricManhattanNMF(3, random_state=seed).fit(X) for seed in range(3)]
    G = min(fits, key=lambda model: model.history_[-1].loss).embedding_
    values, vectors = np.linalg.eigh(X)
    squared = vectors[:, -3:] * np.sqrt(values[-3:])  # the best under squares
    error = np.linalg.norm(G @ G.T - H @ H.T)
    assert error < 0.02 * np.linalg.norm(H @ H.T)
    assert error < 0.1 * np.linalg.norm(squared @ squared.T - H @ H.T)


def test_missing_values_are_excluded():
    X, H = _planted(wrong=0.0)
    gaps = np.random.default_rng(1).random(X.shape) < 0.1
    gaps |= gaps.T
    X[gaps] = np.nan
    G = SymmetricManhattanNMF(init=H).fit(X).embedding_
    np.testing.assert_allclose(G, H, atol=1e-9)  # a perfect fit of what is known stays
    far = np.where(gaps, 50.0, X)
    first = SymmetricManhattanNMF(init=H + 0.1).fit(X).embedding_
    assert not np.allclose(first, SymmetricManhattanNMF(init=H + 0.1).fit(far).embedding_)


def test_missing_values_are_taken_from_the_other_triangle():
    X, _ = _planted(20)
    one_sided = X.copy()
    one_sided[3, 5] = np.nan
    first = SymmetricManhattanNMF(3, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(
        first, SymmetricManhattanNMF(3, random_state=0).fit_transform(one_sided)
    )


def test_sparse_equals_dense():
    X, _ = _planted()
    X[3, 5] = X[5, 3] = np.nan
    models = [SymmetricManhattanNMF(3, random_state=0).fit(A) for A in (X, sparse.csr_matrix(X))]
    np.testing.assert_array_equal(models[0].embedding_, models[1].embedding_)


def test_scale_and_dtype():
    X, _ = _planted()
    H = SymmetricManhattanNMF(3, random_state=0).fit_transform(X)
    large = SymmetricManhattanNMF(3, random_state=0).fit_transform(1024 * X)
    np.testing.assert_allclose(large, 32 * H, rtol=1e-9, atol=1e-12)
    assert SymmetricManhattanNMF(3).fit(X.astype(np.float32)).embedding_.dtype == np.float32


def test_mostly_zero_similarities_have_no_components():
    band = sparse.diags_array([0.5, 1.0, 0.5], offsets=[-1, 0, 1], shape=(60, 60)).tocsr()
    H = SymmetricManhattanNMF(2, random_state=0, tol=0).fit_transform(band)
    assert np.abs(H @ H.T - np.diag(np.diag(H @ H.T))).sum() < 0.1 * band.sum()


def test_duplicate_entries_of_sparse_similarities_add_up():
    data, columns, starts = np.array([1.0, 2, 1, 2, 4]), [1, 1, 0, 0, 2], [0, 2, 4, 5]
    twice = sparse.csr_array((data, columns, starts), shape=(3, 3))
    found = SymmetricManhattanNMF(2, random_state=0).fit(twice).embedding_
    whole = SymmetricManhattanNMF(2, random_state=0).fit(twice.toarray()).embedding_
    np.testing.assert_array_equal(found, whole)
    assert twice.nnz == 5  # the input is not modified


def test_callbacks_seeds_and_components():
    X, _ = _planted(30)
    seen = []
    callbacks = [seen.append, StopAfter(seconds=0)]
    model = SymmetricManhattanNMF(3, random_state=0, callbacks=callbacks).fit(X)
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.components_, model.embedding_.T)
    np.testing.assert_array_equal(seen[-1].dictionary, model.components_)
    again = SymmetricManhattanNMF(3, random_state=0, max_iter=1).fit_transform(X)
    np.testing.assert_array_equal(again, model.embedding_)
    other = SymmetricManhattanNMF(3, random_state=1, max_iter=1).fit_transform(X)
    assert not np.array_equal(other, model.embedding_)


def test_scikit_learn_agrees():
    failed = [
        result["check_name"]
        for result in check_estimator(SymmetricManhattanNMF(3, verbose=0), on_skip=None)
        if result["status"] == "failed"
    ]
    assert not failed


def test_fits_end_at_the_tolerance():
    """By default one in ten thousand, as the other factorisations of batches."""
    X, _ = _planted(60)
    X += 0.2 * np.random.default_rng(0).random(X.shape)
    model = SymmetricManhattanNMF(3, random_state=0).fit(X + X.T)
    gains = [row.certificate for row in model.history_]
    assert len(gains) > 3
    assert gains[-1] <= 1e-4 < min(gains[:-1])


def test_an_interrupt_leaves_a_model():
    X, _ = _planted(30)

    def interrupt(step):
        raise KeyboardInterrupt

    model = SymmetricManhattanNMF(3, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert _loss(X, model.embedding_) == pytest.approx(model.history_[-1].loss * len(X))


def test_save_and_continue(tmp_path):
    X, _ = _planted(30)
    whole = SymmetricManhattanNMF(3, random_state=0, tol=0, max_iter=6).fit(X)
    half = SymmetricManhattanNMF(3, random_state=0, tol=0, max_iter=3).fit(X)
    thresher.save(half, tmp_path / "half")
    loaded = thresher.load(tmp_path / "half")
    assert loaded.get_params() == half.get_params()
    np.testing.assert_array_equal(loaded.history_.to_array(), half.history_.to_array())
    rest = loaded.set_params(init=loaded.embedding_).fit(X)
    # Running sums start anew, so the last bits may differ.
    np.testing.assert_allclose(rest.embedding_, whole.embedding_, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="fitted"):
        thresher.save(SymmetricManhattanNMF(), tmp_path / "none")


@pytest.mark.parametrize(
    ("X", "parameters", "keyword"),
    [
        (np.ones((3, 4)), {}, "square"),
        (np.triu(np.ones((3, 3))), {}, "symmetric"),
        (-np.ones((3, 3)), {}, "Negative"),
        (np.full((3, 3), np.inf), {}, "infinity"),
        (np.ones((3, 3)), {"init": "eigenvectors"}, "squared_l2"),
        (np.ones((3, 3)), {"init": np.ones((2, 2))}, "init"),
        (np.ones((3, 3)), {"n_components": 0}, "n_components"),
        (np.ones((3, 3)), {"max_iter": 1.5}, "max_iter"),
        (np.ones((3, 3)), {"tol": -1.0}, "tol"),
    ],
)
def test_invalid_input_changes_nothing(X, parameters, keyword):
    model = SymmetricManhattanNMF(2, random_state=0).fit(np.ones((5, 5)))
    kept = model.embedding_.copy()
    with pytest.raises(ValueError, match=keyword):
        model.set_params(**parameters).fit(X)
    np.testing.assert_array_equal(model.embedding_, kept)
