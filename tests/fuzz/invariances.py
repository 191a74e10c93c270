"""What must not matter: scale, copies, gaps, storage, batches, threads."""

from typing import Any

import numpy as np
from scipy import sparse

from fuzz import draws
from fuzz.checks import near, same_bits
from thresher.estimators import OnlineOrthogonalDictionary

Rng = np.random.Generator
_DECADES = {np.float64: 30, np.float32: 25}


def _in_one_batch(model: Any, n: int) -> Any:
    """The model set to learn from all n samples in one step, in their own order."""
    wanted = {"batch_size": n, "n_passes": 1, "shuffle": False}
    return model.set_params(**{k: v for k, v in wanted.items() if k in model.get_params()})


def _homogeneous(rng: Rng, F: int, kinds: Any) -> Any:
    """A model with nothing in it that has the data's unit."""
    model = draws.model(rng, F, kinds)
    parameters = model.get_params()
    changes: dict[str, Any] = {"code_set": "nonnegative", "dictionary_penalty": None}
    if type(model).__name__ not in ("OnlineL1Dictionary", "L1Dictionary"):
        changes["code_penalty"] = None
    changes["outlier_weight"] = draws.one_of(rng, "auto", "mad")
    changes["outlier_bound"] = None
    if parameters.get("divergence") == "huber":
        changes["divergence_parameter"] = None
    return model.set_params(**{k: v for k, v in changes.items() if k in parameters})


def scale_does_not_matter(rng: Rng) -> str:
    """Data times a power of two give the same atoms, and codes times that power."""
    n, F = draws.size(rng)
    dtype = draws.one_of(rng, np.float64, np.float32)
    X = draws.parts(rng, n, F).astype(dtype)
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.2] = np.nan
    model = _homogeneous(rng, F, draws.ANY)
    if model.get_params().get("divergence") == "mahalanobis":
        X = np.nan_to_num(X)
    decades = _DECADES[dtype]
    factor = dtype(2.0 ** int(np.log2(10.0) * rng.integers(-decades, decades + 1)))
    if rng.random() < 0.3:
        X = sparse.csr_array(X)
    model.fit(X)
    codes = model.transform(X)
    atoms, whitens = model.components_.copy(), getattr(model, "whiten", False)
    # An unbounded set leaves the size of atoms open, and whitening takes on that of the data.
    open_set = model.get_params().get("dictionary_set") == "nonnegative" or whitens
    scaled = X * factor
    model.fit(scaled)
    rtol = 1e-6 if dtype == np.float64 else 1e-3
    if not open_set:
        near(model.components_, atoms, rtol, "The dictionary")
    again = model.transform(scaled) @ model.components_
    near(again / factor, codes @ atoms, 10 * rtol, "The prediction")
    scores = model.score_samples(scaled)
    assert not np.isnan(scores).any(), "Scores are NaN."
    return "right"


def copies_are_weights(rng: Rng) -> str:
    """A sample of weight two is two samples, one of weight zero none."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    model = draws.model(rng, F, draws.ANY)
    weight = rng.integers(0, 4, n).astype(float)
    weight[rng.integers(n)] = 2
    copies = np.repeat(X, weight.astype(int), axis=0)
    if "init" in model.get_params() and not isinstance(model, OnlineOrthogonalDictionary):
        model.set_params(init=rng.random((model.n_components, F)))
    _in_one_batch(model, 1000)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, sample_weight=weight)
        atoms = model.components_.copy()
        again = type(model)(**model.get_params()).partial_fit(copies)
    else:
        model.set_params(solver="auto", max_iter=3)
        atoms = model.fit(X, sample_weight=weight).components_.copy()
        again = type(model)(**model.get_params()).fit(copies)
        first = float(np.average(model.score_samples(X), weights=weight))
        unit = 1e-2 * float(np.abs(copies).sum(axis=1).mean())
        gap = abs(again.score(copies) - first)
        assert gap <= 0.05 * abs(first) + unit, f"The score differs by {gap:.2g}."
        return "right"
    near(again.components_, atoms, 1e-5, "The dictionary")
    return "right"


def gaps_are_weights_of_zero(rng: Rng) -> str:
    """What stands in an entry of weight zero has no influence, and NaN is such an entry."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    model = draws.model(rng, F, draws.ANY)
    if model.get_params().get("divergence") == "mahalanobis":
        model.set_params(divergence="kl", divergence_parameter=None)
    missing = rng.random(X.shape) < rng.uniform(0, 0.6)
    gaps = np.where(missing, np.nan, X)
    other = np.where(missing, draws.one_of(rng, 0.0, 0.77, 1e6, np.nan), X)
    weight = (~missing).astype(draws.one_of(rng, np.float64, np.float32, np.int64, bool))
    K = F if isinstance(model, OnlineOrthogonalDictionary) else model.n_components
    model.set_params(init=rng.random((K, F)))
    model.fit(gaps)
    atoms, codes, scores = (
        model.components_.copy(),
        model.transform(gaps),
        model.score_samples(gaps),
    )
    near(model.transform(other, weight), codes, 1e-9, "The codes")
    near(model.score_samples(other, weight), scores, 1e-9, "The scores")
    model.fit(other, entry_weight=weight)
    near(model.components_, atoms, 1e-7, "The dictionary")
    return "right"


def sparse_is_dense(rng: Rng) -> str:
    """CSR of any make is the array that it stands for."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    X[rng.random(X.shape) < 0.5] = 0
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = draws.model(rng, F, draws.ANY)
    if model.get_params().get("divergence") == "mahalanobis":
        X = np.nan_to_num(X)
    rows = sparse.csr_array(X)
    kind = rng.integers(5)
    if kind == 0:  # stored zeros
        rows = sparse.csr_array(
            (
                np.append(rows.data, 0.0),
                np.append(rows.indices, 0),
                np.append(rows.indptr[:-1], rows.nnz + 1),
            ),
            shape=X.shape,
        )
    elif kind == 1:
        rows = sparse.csc_array(X)
    elif kind == 2:
        rows = sparse.coo_array(X)
    elif kind == 3:
        rows = sparse.csr_matrix(X)
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    model.fit(rows)
    assert np.isfinite(model.components_).all(), "Atoms are not finite."
    model.fit(X)
    if "code_max_iter" in model.get_params():
        model.set_params(code_tol=1e-8, code_max_iter=300)
    before = rows.copy()
    unit = np.abs(model.score_samples(np.zeros((1, F)) + 1e-3)).max() + np.nansum(X, axis=1) + 1e-9
    dense, thin = model.score_samples(X), model.score_samples(rows)
    assert (np.abs(dense - thin) <= 1e-5 * (np.abs(dense) + unit)).all(), "Scores differ."
    predicted = model.transform(X) @ model.components_
    if len(np.unique(np.round(np.linalg.svd(model.components_)[1], 6))) == len(model.components_):
        near(model.transform(rows) @ model.components_, predicted, 0.05, "The prediction")
    assert (before != rows).nnz == np.isnan(X).sum(), "The input was written."
    return "right"


def batches_are_a_fit(rng: Rng) -> str:
    """`fit` without shuffling gives the bits of its batches through `partial_fit`."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F).astype(draws.one_of(rng, np.float64, np.float32))
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = draws.online(rng, F)
    if model.get_params().get("divergence") == "mahalanobis":
        X = np.nan_to_num(X)
    if rng.random() < 0.3:
        draws.with_published_solver(model, rng)
    weight = rng.random(n) if rng.random() < 0.3 else None
    parts = type(model)(**model.get_params())
    model.set_params(shuffle=False).fit(X, sample_weight=weight)
    size = model.batch_size
    for _ in range(model.n_samples_seen_ // n):  # it may have settled before the last pass
        for start in range(0, n, size):
            some = None if weight is None else weight[start : start + size]
            parts.partial_fit(X[start : start + size], sample_weight=some)
    same_bits(parts.components_, model.components_, "The dictionary")
    assert parts.n_samples_seen_ == model.n_samples_seen_, "Samples were counted twice or not."
    same_bits(parts.transform(X), model.transform(X), "The codes")
    return "right"


def threads_do_not_matter(rng: Rng) -> str:
    """One thread and three give the same bits."""
    n, F = int(rng.integers(100, 400)), int(rng.integers(100, 400))
    X = rng.random((n, 2)) @ rng.random((2, F)) + 0.01
    model = _homogeneous(rng, F, draws.NONNEGATIVE)
    if model.get_params().get("divergence") == "mahalanobis":
        model.set_params(divergence="kl", divergence_parameter=None)
    _in_one_batch(model, n).set_params(n_jobs=1)
    if "max_iter" in model.get_params():
        model.set_params(max_iter=3)
    model.fit(X)
    other = type(model)(**model.get_params()).set_params(n_jobs=3).fit(X)
    same_bits(other.components_, model.components_, "The dictionary")
    same_bits(other.transform(X), model.transform(X), "The codes")
    return "right"


FAMILIES = [
    scale_does_not_matter,
    copies_are_weights,
    gaps_are_weights_of_zero,
    sparse_is_dense,
    batches_are_a_fit,
    threads_do_not_matter,
]
