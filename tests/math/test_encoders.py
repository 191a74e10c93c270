"""Combinations of encoders, prepared encoders, and the certificate of the one that is chosen."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import sparse

from thresher.encoding import (
    APPROXIMATE,
    APPROXIMATE_UPDATES,
    EXACT,
    AutoEncoder,
    BlockADMM,
    BlockNewton,
    Certified,
    CodingProblem,
    IterativeEncoder,
    Never,
    Newton,
    NewtonStart,
    Rows,
    Stages,
    Status,
)
from thresher.linalg import load_stored_block, stored_rows
from thresher.losses import Huber, ItakuraSaito, KullbackLeibler, L1Distance, SquaredL2

LOSSES = [Huber(0.2), SquaredL2(), KullbackLeibler(), ItakuraSaito(), L1Distance()]
AUTO = {
    "exact": AutoEncoder(1e-6, 2000),
    "approximate": AutoEncoder(None, candidates=APPROXIMATE),
    "approximate updates": AutoEncoder(None, candidates=APPROXIMATE_UPDATES),
}


def data(loss=None, n=12, K=3, F=20):
    rng = np.random.default_rng(0)
    D = rng.random((K, F)) + 0.05
    X = rng.random((n, K)) @ D + 0.3 * rng.random((n, F))
    return CodingProblem(D, Huber(0.2) if loss is None else loss), X


def blocks(loss):
    """Kinds of blocks that a loss allows: samples and weights of entries."""
    X = data(loss)[1]
    yield "dense", X, None
    yield "weighted", X, (np.random.default_rng(1).random(X.shape) > 0.2).astype(float)
    if loss.stays_sparse:
        yield "sparse", sparse.csr_array(np.where(X > 1, X, 0)), None
    rows = stored_rows(sparse.csr_array(np.where(X > 1, X, 0)))
    if loss.exchangeable_features:
        yield "observed", load_stored_block(rows, slice(0, len(X)), X.dtype, None, 1.0), None


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("name", AUTO)
def test_a_prepared_encoder_codes_like_one_that_prepares_for_each_block(loss, name):
    problem, _ = data(loss)
    for kind, X, weight in blocks(loss):
        expected = AUTO[name].encode(problem, X, weight)
        encode = AUTO[name].prepare(problem, Rows.of(X, weight))
        for _ in range(2):
            found = encode(X, weight)
            np.testing.assert_array_equal(found.codes, expected.codes, err_msg=kind)
            np.testing.assert_array_equal(found.n_iter, expected.n_iter, err_msg=kind)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_an_encoder_prepared_without_weights_codes_missing_entries(loss):
    """Whether entries are missing shows only when a block is loaded."""
    problem, X = data(loss)
    weight = (np.random.default_rng(1).random(X.shape) > 0.2).astype(float)
    encoder = AUTO["exact"]
    expected = encoder.encode(problem, X, weight).codes
    np.testing.assert_array_equal(encoder.prepare(problem)(X, weight).codes, expected)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_certificate_is_that_of_the_encoder_that_is_chosen(loss):
    problem, _ = data(loss)
    for kind, X, weight in blocks(loss):
        if kind == "observed":
            continue
        codes = AUTO["exact"].encode(problem, X, weight).codes
        chosen = AUTO["exact"].choice(problem, Rows.of(X, weight)).encoder
        for C in (codes, 1.1 * codes):
            theirs = chosen.certificate(problem.simplified, X, C, weight)
            np.testing.assert_array_equal(problem.certificate(X, C, weight), theirs)
        assert (problem.certificate(X, codes, weight) <= 1e-5).all()
        assert (problem.certificate(X, 1.1 * codes, weight) > 1e-4).any()


def test_every_candidate_has_a_name_and_a_reason():
    for candidates in (EXACT, APPROXIMATE, APPROXIMATE_UPDATES):
        assert all(one.name.isidentifier() and one.reason for one in candidates)
    assert len({one.name for one in EXACT}) == len(EXACT)


def test_stages_code_the_rest_by_the_next_encoder():
    problem, X = data()
    two_rounds = IterativeEncoder(BlockADMM(), Certified(1e-9), 2)
    first = two_rounds.encode(problem, X)
    found = Stages((two_rounds, Newton(1e-9))).encode(problem, X)
    assert (first.status == Status.MAX_ITER).all()
    assert (found.status == Status.CONVERGED).all()
    alone = Newton(1e-9).encode(problem, X, None, first.codes)
    np.testing.assert_array_equal(found.codes, alone.codes)
    np.testing.assert_array_equal(found.n_iter, 2 + alone.n_iter)
    best = AutoEncoder(1e-12).encode(problem, X).codes
    np.testing.assert_allclose(found.codes, best, atol=1e-7)


def test_stages_start_from_given_codes_or_from_those_of_the_start():
    problem, X = data()
    stages = Stages((Newton(1e-12, 100),), NewtonStart())
    cold = stages.encode(problem, X)
    warm = stages.encode(problem, X, None, cold.codes)
    assert warm.n_iter.max() <= 1
    np.testing.assert_allclose(warm.codes, cold.codes, atol=1e-10)


def test_a_bound_holds_for_all_stages_together():
    problem, X = data(KullbackLeibler(), K=10)  # so many that given codes are no shortcut
    rounds = IterativeEncoder(BlockADMM(), Never(), 3)
    stages = Stages((rounds, IterativeEncoder(BlockNewton(), Never(), 4)), max_iter=5)
    assert (stages.encode(problem, X).n_iter == 5).all()
    assert (Stages((rounds,), max_iter=2).encode(problem, X).n_iter == 2).all()


@dataclass(frozen=True)
class _Unsuited(BlockNewton):
    def requires(self, problem, rows):
        return "something else"


def test_stages_leave_out_what_does_not_suit_and_go_on_with_the_same_method():
    problem, X = data(K=10)
    stages = Stages(
        (
            IterativeEncoder(BlockADMM(), Certified(1e-6), 6),
            IterativeEncoder(_Unsuited(), Certified(1e-6), 50),
            IterativeEncoder(BlockADMM(), Certified(1e-6), 1000),
        )
    )
    alone = IterativeEncoder(BlockADMM(), Certified(1e-6), 1000).encode(problem, X)
    found = stages.encode(problem, X)
    np.testing.assert_array_equal(found.codes, alone.codes)
    np.testing.assert_array_equal(found.n_iter, alone.n_iter)


@dataclass(frozen=True)
class _Counting(BlockADMM):
    made: list = field(default_factory=list, compare=False)

    def precompute(self, problem):
        self.made.append(problem)
        return super().precompute(problem)


def test_what_blocks_share_is_computed_once():
    problem, X = data()
    solver = _Counting()
    encode = IterativeEncoder(solver, Never(), 2).prepare(problem)
    for _ in range(3):
        encode(X)
    assert len(solver.made) == 1
