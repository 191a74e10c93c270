"""Codes against samples: the sparse fit is the dense one, and touches only the nonzeros."""

import numpy as np
import pytest
from scipy import sparse

from thresher.encoding import CodingProblem, DenseFit, RoughEncoder
from thresher.learning.surrogate import BatchSums
from thresher.linalg import load_sparse_block, without_traces
from thresher.losses import (
    AlphaDivergence,
    Hellinger,
    Huber,
    KullbackLeibler,
    L1Distance,
    SmoothedL1,
    SquaredL2,
)

LOSSES = {
    "kl": KullbackLeibler(),
    "hellinger": Hellinger(),
    "alpha 0.3": AlphaDivergence(0.3),
    "alpha 2": AlphaDivergence(2.0),
    "l1": L1Distance(),
    "smoothed l1": SmoothedL1(0.3),
    "l1, light zeros": L1Distance(0.2),
    "smoothed l1, light zeros": SmoothedL1(0.3, 0.2),
    "squared": SquaredL2(),
}
OTHER_PARTS = {
    "l1",
    "l1, light zeros",
    "smoothed l1, light zeros",
}  # the same slope, split otherwise


def _samples(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 2.0, (12, 30)) * (rng.random((12, 30)) < 0.2)
    X[4] = 0
    D = rng.random((5, 30)) * (rng.random((5, 30)) < 0.7)
    D[:, 7] = 0  # a word that no atom knows
    X[2, 7] = 1.5
    C = rng.random((12, 5)) * (rng.random((12, 5)) < 0.8)
    C[5] = 0
    return X.astype(dtype), D.astype(dtype), C.astype(dtype)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_is_dense(name, dtype):
    X, D, C = _samples(dtype)
    problem = CodingProblem(D, LOSSES[name])
    assert problem.loss.stays_sparse
    dense, thin = problem.fit(X, C), problem.fit(sparse.csr_matrix(X), C)
    close = {"rtol": 1e-9 if dtype == np.float64 else 2e-4, "atol": 1e-7}
    np.testing.assert_allclose(thin.values(), dense.values(), **close)
    pairs = [
        (thin.code_slopes(), dense.code_slopes()),
        (thin.dictionary_slopes(C), dense.dictionary_slopes(C)),
    ]
    for ours, theirs in pairs:
        assert all(part.min() >= 0 for part in ours)
        slope = theirs[0] - theirs[1]
        slack = 1e-5 if dtype == np.float64 else 1e-2  # where two large parts cancel
        np.testing.assert_allclose(ours[0] - ours[1], slope, rtol=slack, atol=slack)
        if name not in OTHER_PARTS:
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(np.broadcast_to(one, other.shape), other, **close)
    if name != "smoothed l1, light zeros":  # its certificate is made of the parts
        certificates = problem.certificate(sparse.csr_matrix(X), C), problem.certificate(X, C)
        if problem.loss.order is None:
            np.testing.assert_allclose(*certificates, rtol=1e-3, atol=1e-6)
        else:  # sparse rows have the duality gap, relative to their sum: see test_encoding
            np.testing.assert_array_equal(*(certificate > 1e-3 for certificate in certificates))
    assert thin.values().dtype == dtype


@pytest.mark.parametrize("name", ["kl", "hellinger", "alpha 2"])
def test_certificate_bounds_how_far_the_loss_is_from_its_minimum(name):
    """On convex problems, against a long run of multiplicative updates."""
    X, D, _ = _samples()
    X, D = X[[0, 1, 3, 6]], D + 0.01
    problem = CodingProblem(D, LOSSES[name])
    C = np.ones((4, 5))
    exponent = 1 / sum(problem.loss.powers)
    trace = []
    for _ in range(4000):
        positive, negative = problem.fit(X, C).code_slopes()
        trace.append((problem.objective(X, C), problem.certificate(X, C)))
        C = C * (negative / positive) ** exponent
    best = problem.objective(X, C)
    assert problem.certificate(X, C).max() < 1e-3
    for objective, certificate in trace[5:200:20]:
        scale = problem.loss.zero_slope * np.maximum(X.sum(axis=1), (C @ D).sum(axis=1))
        assert np.all(objective - best <= 2 * certificate * scale + 1e-9)


def test_certificate_of_rows_without_codes():
    """A row of zeros wants no codes and is certified; one with data is not."""
    _, D, _ = _samples()
    problem = CodingProblem(D + 0.1, KullbackLeibler())
    X = np.zeros((2, 30))
    X[1, 3] = 1
    certificate = problem.certificate(X, np.zeros((2, 5)))
    assert certificate[0] == 0
    assert certificate[1] > 1


def test_entries_that_are_met_have_the_curvature_of_an_inlier():
    """Dark pixels that are predicted dark count like others; missing ones do not count."""
    X, D, C = _samples()
    X[:, 7] = 0  # as the prediction is
    energy = np.einsum("nk,nk->n", C, C)
    dense = DenseFit(SquaredL2(), X, C, D).curvatures(energy)
    np.testing.assert_allclose(dense, energy.sum())
    thin = CodingProblem(D, SquaredL2()).fit(sparse.csr_matrix(X), C).curvatures(energy)
    np.testing.assert_allclose(thin, dense)
    seen = np.ones_like(X)
    seen[:3, 7] = 0
    gaps = DenseFit(SquaredL2(), X, C, D, seen).curvatures(energy)
    assert gaps[7] == pytest.approx(energy[3:].sum())


@pytest.mark.parametrize("loss", [Huber(0.3), Huber(0.3, 0.5, True), SquaredL2()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_at_once_are_the_sums(loss, weighted, dtype):
    """Against the same sums where entries have weights, all one, which are not compiled."""
    X, D, C = _samples(dtype)
    X[0] = C[0] @ D  # residuals of zero
    weights = np.random.default_rng(1).random(12).astype(dtype) if weighted else None
    fit = CodingProblem(D, loss).fit(X, C)
    ones = np.ones_like(X)
    general = BatchSums.of(CodingProblem(D, loss).fit(X, C, ones), weights)
    quick = BatchSums.of(fit, weights)
    close = {"rtol": 1e-10 if dtype == np.float64 else 1e-4, "atol": 1e-12}
    for part in ("A", "gradient", "weight", "curvature", "inlier", "energy"):
        found, expected = getattr(quick, part), getattr(general, part)
        close["atol"] = (1e-12 if dtype == np.float64 else 1e-5) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, err_msg=part, **close)
    np.testing.assert_allclose(fit.values(), loss.value(X, C @ D), rtol=close["rtol"], atol=1e-5)
    assert "prediction" not in vars(fit)  # it was one call


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_coder_hands_on_its_predictions(dtype):
    """Of all rows, empty ones and those of unknown words too."""
    X, D, _ = _samples(dtype)
    X[6] = 0
    X[6, 7] = 1.0  # nothing else than a word that no atom knows
    rows, problem = sparse.csr_array(X), CodingProblem(D, KullbackLeibler())
    found = RoughEncoder().encode(problem, rows)
    wanted = (found.codes @ D)[rows.nonzero()]
    np.testing.assert_allclose(found.products, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("rows", [slice(0, 4), slice(1, 3)])
def test_blocks_are_cleared_of_zeros_and_duplicates_but_not_in_the_users_memory(index, rows):
    data = np.array([1.0, 2, 0, 3, 4, 1e-300, 5], dtype=np.float32)
    indices, indptr = np.array([2, 2, 0, 1, 0, 1, 3], index), np.array([0, 3, 3, 6, 7], index)
    X = sparse.csr_array((data, indices, indptr), shape=(4, 5))
    before = [values.copy() for values in (data, indices, indptr)]
    block = without_traces(load_sparse_block(X, rows, np.dtype(np.float32), 2.0))
    np.testing.assert_array_equal(block.toarray(), X.toarray()[rows] / 2)
    assert block.has_canonical_format
    assert block.data.all()
    assert block.indices.dtype == np.int32
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)
