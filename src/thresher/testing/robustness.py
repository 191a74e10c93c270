"""Promises 2, 8, 9, 10: rows stand alone, gaps are gaps, codes optimal, bad input refused."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from thresher.testing.data import given_start, planted, ready, start, takes


def check_rows_are_coded_independently(estimator: Any) -> None:
    """``transform(X)[i]`` equals ``transform(X[i:i+1])``."""
    for dtype, rtol in ((np.float64, 1e-9), (np.float32, 1e-5)):
        X = planted(150).astype(dtype)
        model = ready(estimator).fit(X)
        together = model.transform(X)
        alone = np.vstack([model.transform(X[i : i + 1]) for i in range(0, 150, 7)])
        scale = float(np.abs(together).max())
        np.testing.assert_allclose(together[::7], alone, rtol=rtol, atol=rtol * scale)


def check_codes_are_optimal(estimator: Any) -> None:
    """Codes meet the tolerance that was asked for, or a warning says that they do not."""
    X = planted(100)
    for tol in (1e-3, 1e-8):
        model = ready(estimator).fit(X).set_params(code_tol=tol)
        codes = model.transform(X)
        certificate = model.certificates(X, codes)
        assert certificate.max() <= 1.01 * tol, f"Codes miss {tol}: {certificate.max():.2g}."
    model.set_params(code_tol=1e-14, code_max_iter=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codes = model.transform(X)
    said = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    missed = model.certificates(X, codes).max() > 1e-12
    assert said or not missed, "Codes that missed their tolerance came without a warning."


def _with_gaps(X: Any, share: float = 0.2, seed: int = 3) -> tuple[Any, NDArray[np.bool_]]:
    missing = np.random.default_rng(seed).random(X.shape) < share
    return np.where(missing, np.nan, X), missing


def check_missing_entries_do_not_matter(estimator: Any) -> None:
    """An entry that is NaN has no influence, as an entry of weight zero has none."""
    X = planted(200)
    gaps, missing = _with_gaps(X)
    weight = (~missing).astype(float)
    other = np.where(missing, 0.77, X)
    # Initial atoms see the gaps filled in another way, so the starts are given.
    fixed = given_start(estimator, X.shape[1])
    fixed |= {"outlier_weight": 0.1} if takes(estimator, "outlier_weight") else {}
    first = ready(estimator, **fixed).fit(gaps)
    second = ready(estimator, **fixed).fit(other, entry_weight=weight)
    np.testing.assert_allclose(first.components_, second.components_, rtol=1e-9, atol=1e-12)
    codes = first.transform(gaps)
    np.testing.assert_allclose(codes, first.transform(other, entry_weight=weight), atol=1e-6)


def check_impute_keeps_what_was_seen(estimator: Any) -> None:
    """Observed entries stay, and gaps are filled better than by the mean of the feature."""
    X = planted(400)
    gaps, missing = _with_gaps(X, 0.15)
    model = ready(estimator).fit(gaps)
    filled = model.impute(gaps)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    means = np.broadcast_to(np.nanmean(gaps, axis=0), X.shape)
    error = np.median(np.abs(filled - X)[missing])
    naive = np.median(np.abs(means - X)[missing])
    assert error < 0.5 * naive, f"Filled gaps are off by {error:.3g}, feature means by {naive:.3g}."


def check_hidden_entries_are_scored(estimator: Any) -> None:
    """`score_entries` is of what was hidden: many parts explain all that they see, but not that."""
    train, test = planted(300), planted(100, seed=1)
    many = {"n_components": train.shape[1]} if takes(estimator, "n_components") else {}
    model = ready(estimator, **many).fit(train)
    score = model.score_entries(test)
    assert score == model.score_entries(test, random_state=0), "The same seed gives two scores."
    assert score == model.score_entries(sparse.csr_array(test)), "CSR gives another score."
    seen = np.abs(test - model.inverse_transform(model.transform(test))).mean()
    assert -score > 1.5 * seen, f"Hidden entries are off by {-score:.3g}, others by {seen:.3g}."
    other = model.score_entries(test[:, ::-1])
    assert other < score, f"Samples of another kind score {other:.3g}, not below {score:.3g}."


def check_sparse_equals_dense(estimator: Any) -> None:
    """CSR gives the codes of the dense array, and from the same start a dictionary as good.

    Rows may be coded on their nonzeros, by another method that finds the same optimum.
    """
    X = planted(150)
    X[X < 0.2] = 0
    rows = sparse.csr_matrix(X)
    init = start(estimator, X.shape[1])
    model = ready(estimator, init=init).fit(X)
    again = ready(estimator, init=init).fit(rows)
    if takes(estimator, "tol"):
        model.set_params(tol=1e-9)
    dense, thin = model.score_samples(X), model.score_samples(rows)
    np.testing.assert_allclose(thin, dense, rtol=1e-6, atol=1e-7 * float(np.abs(dense).max()))
    worse = again.score(X) / model.score(X)
    assert worse < 1.3, f"A dictionary from CSR has {worse:.2f} times the loss."


def check_bad_input_changes_nothing(estimator: Any) -> None:
    """Bad input raises ValueError or TypeError with a sentence, and the model stays as it was."""
    X = planted(100)
    model = ready(estimator).fit(X)
    atoms, width = model.components_.copy(), model.n_features_in_
    infinite, negative = X.copy(), X.copy()
    infinite[3, 4], negative[3, 4] = np.inf, -0.5
    bad = {
        "negative": negative,
        "infinite": infinite,
        "empty": X[:0],
        "too narrow": X[:, :-1],
        "one-dimensional": X[0],
        "complex": X * 1j,
        "text": np.array([["a", "b"]]),
    }
    if not model.__sklearn_tags__().input_tags.positive_only:
        del bad["negative"]
    for kind, samples in bad.items():
        calls = [model.transform, model.score_samples]
        calls += [model.partial_fit] if hasattr(model, "partial_fit") else []
        calls += [model.fit] if kind != "too narrow" else []
        for call in calls:
            try:
                call(samples)
            except (ValueError, TypeError) as error:
                assert len(str(error)) > 20, f"{kind} input gives no sentence: {error}"
            else:
                raise AssertionError(f"{kind} input was accepted by {call.__name__}.")
            np.testing.assert_array_equal(model.components_, atoms)
            assert model.n_features_in_ == width, f"{kind} input changed n_features_in_."


def check_scale_of_data_does_not_matter(estimator: Any) -> None:
    """Data times 1024 give the same parts, and codes times 1024."""
    X = planted()
    small, large = ready(estimator).fit(X), ready(estimator).fit(X * 1024)
    np.testing.assert_allclose(large.components_, small.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        large.transform(X * 1024), small.transform(X) * 1024, rtol=1e-5, atol=1e-4
    )


def check_false_alarm_rate(estimator: Any) -> None:
    """`calibrate` holds its rate on normal samples, and broken samples are flagged."""
    model = ready(estimator).fit(planted(600))
    model.calibrate(planted(600, seed=1), false_alarm_rate=0.05)
    normal = planted(1000, seed=2)
    rate = (model.predict(normal) == -1).mean()
    assert rate < 0.09, f"{rate:.1%} of normal samples were flagged, 5 % were allowed."
    broken = normal[:, ::-1]
    assert (model.predict(broken) == -1).mean() > 0.5, "Samples of another kind go unnoticed."


def check_separation_adds_up(estimator: Any) -> None:
    """Low rank plus outliers leaves a residual of at most λ, in memory, in maps and streams."""
    X = planted(200)
    model = ready(estimator).fit(X)
    whole = model.separate(X)
    residual = np.abs(X - whole.low_rank - whole.outliers)
    assert residual.max() <= model.outlier_weight_ * (1 + 1e-6) + 1e-9
    np.testing.assert_allclose(whole.low_rank, whole.codes @ model.components_, atol=1e-12)
    low_rank, outliers = np.empty_like(X), np.empty_like(X)
    model.separate(X, low_rank=low_rank, outliers=outliers)
    np.testing.assert_array_equal(low_rank, whole.low_rank)
    parts = list(model.separate(X[i : i + 64] for i in range(0, 200, 64)))
    np.testing.assert_allclose(
        np.vstack([part.outliers for part in parts]), whole.outliers, atol=1e-6
    )


def check_outliers_do_not_move_the_dictionary(estimator: Any) -> None:
    """Glitches of five times the range on a hundredth of the entries hardly change the parts.

    (Far larger ones do: an outlier costs as much as it is large, so at some size the objective
    itself prefers to spend an atom on it.)
    """
    X = planted(600)
    model = ready(estimator).fit(X)
    hit = np.random.default_rng(5).random(X.shape) < 0.01
    glitches = np.where(hit, 5.0, X)
    weighted = takes(estimator, "outlier_weight")
    same = {"outlier_weight": model.outlier_weight_} if weighted else {}
    broken = ready(estimator, **same).fit(glitches)
    low_rank = broken.separate(glitches).low_rank
    error = np.linalg.norm(low_rank - model.separate(X).low_rank) / np.linalg.norm(X)
    assert error < 0.2, f"Glitches moved the reconstruction by {error:.0%}."
