"""Constants of published solvers: each has a rule, and one sentence refuses."""

import re
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from thresher import solvers
from thresher.encoding import (
    AutoEncoder,
    Encoder,
    MultiplicativeUpdates,
    Never,
    OutlierADMM,
    ProjectedGradient,
    SmallChange,
)
from thresher.learning import (
    AlternatingLearner,
    BlockDescent,
    DictionaryADMM,
    DictionaryGradient,
    FrankWolfeLearner,
    L1DictionaryADMM,
    NoiseWeight,
    OnlineInexactADMM,
    PowerSchedule,
    QuadraticLearner,
    RangeWeight,
    RobustApproximation,
    StochasticGradient,
)
from thresher.losses import ItakuraSaito, SquaredL2
from thresher.penalties import Constrained
from thresher.sets import CoveredBox, Simplex
from thresher.solvers import PUBLISHED
from thresher.solvers.constants import (
    ABOVE_MINUS_1,
    AT_LEAST_0,
    BELOW_1,
    BETWEEN_0_AND_1,
    COUNT,
    COUNT_OR_0,
    FLAG,
    POSITIVE,
    SHARE,
    one_of,
)

ALL = [(kind, field) for kind in PUBLISHED.values() for field in fields(kind)]


@pytest.mark.parametrize(("kind", "field"), ALL, ids=lambda part: part.name)
def test_every_constant_has_a_rule(kind, field):
    nonsense = [float("nan"), float("inf"), "nonsense", [1], 10**400]
    nonsense += [1] if isinstance(field.default, bool) else [True]
    nonsense += [] if field.default is None else [None]
    for value in nonsense:
        said = re.escape(f"{kind.name}({field.name}={value!r}) must be ")
        with pytest.raises(ValueError, match=f"^{said}.*[.]$"):
            kind(**{field.name: value})
    assert getattr(kind(**{field.name: field.default}), field.name) == field.default


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (POSITIVE, [1e-300, 3, np.float32(0.5)], [0, -1.0, np.float32(np.inf)]),
        (AT_LEAST_0, [0, 0.0, np.int64(7)], [-1e-300]),
        (ABOVE_MINUS_1, [-0.5, 0], [-1, -2.0]),
        (SHARE, [1e-9, 1], [0, 1.5]),
        (BETWEEN_0_AND_1, [0.5], [0, 1]),
        (BELOW_1, [0, 0.99], [-0.1, 1]),
        (COUNT, [1, np.int32(5)], [0, 2.0, -1]),
        (COUNT_OR_0, [0, 1], [-1, 0.0]),
        (FLAG, [True, False, np.True_], [0, 1, "True", None]),
        (one_of("l1", "l2"), ["l1", "l2"], ["l", 1, None]),
    ],
    ids=lambda part: getattr(part, "words", ""),
)
def test_rules_draw_their_line(rule, good, bad):
    assert all(rule.holds(value) for value in good)
    assert not any(rule.holds(value) for value in bad)


@pytest.mark.parametrize("kind", PUBLISHED.values(), ids=PUBLISHED)
def test_every_published_solver_names_its_paper(kind):
    made = kind().made()
    if hasattr(made, "description"):  # modes of the detector have none
        assert re.search("paper [A-E]|Guan|Lef|Wang|AODL|multiplicative", made.description)


# ------------------------------------------------------------------------------ what they stand for


def test_every_constant_of_paper_a_goes_where_it_belongs():
    made = solvers.opgd(0.1, 0.2, 0.3, 4, 0.5, 6).made()
    assert made.encoder == Encoder(ProjectedGradient(0.1), SmallChange(0.3), 4, certify=False)
    assert made.step == DictionaryGradient(0.2, 0.5, 6)
    assert (made.published, made.strays, made.patient, made.rounds) == (True, False, None, None)
    printed = solvers.opgd(as_printed=True).made()
    assert printed.step.as_printed
    assert printed.strays
    made = solvers.oadmm(0.1, 0.2, 0.3, 0.4, 5, 0.6, 7).made()
    assert made.encoder == Encoder(OutlierADMM(0.1, 0.2), SmallChange(0.4), 5, certify=False)
    assert made.step == DictionaryADMM(0.3, 0.6, 7)
    printed = solvers.oadmm(as_printed=True).made()
    assert printed.encoder.solver.as_printed
    assert printed.step.as_printed
    assert printed.strays
    made = solvers.bpgd(0.1, 0.2).made()
    assert made.encoder == Encoder(ProjectedGradient(0.1), Never(), 1, certify=False)
    assert made.step == DictionaryGradient(0.2, max_iter=1)
    assert made.rounds.keywords == {"solver": ProjectedGradient(0.1)}
    assert solvers.bpgd(as_printed=True).made().strays
    assert solvers.badmm(as_printed=True).made().strays
    assert not solvers.badmm().made().strays
    auto = solvers.ONLINE_ROBUST_SOLVERS["auto"]
    assert not auto.published
    assert auto.encoder_for(RangeWeight()) is auto.encoder
    assert auto.encoder_for(NoiseWeight()) is auto.patient
    assert made.encoder_for(NoiseWeight()) is made.encoder


def test_every_constant_of_paper_b_goes_where_it_belongs():
    made = solvers.oiadmm(beta=0.1, share=0.2, tau=0.3, horizon=4, best_norm=0.5,
                          subgradient_norm=0.6).made()  # fmt: skip
    assert made.learner == OnlineInexactADMM(0.1, 0.2, 0.3, 4, 0.5, 0.6)
    assert made.sparse
    codes = {"phi": 0.1, "gamma": 1.2, "kappa": 0.3, "iterations": 4, "tol": 0.05}
    for kind in (solvers.oiadmm, solvers.admm, solvers.online, solvers.batch_impl):
        solver = kind(**codes).made().encoder
        inside = vars(solver.solver) | vars(solver.stop)
        for name in ("phi", "gamma", "kappa", "tol"):
            assert inside[name] == codes[name], (kind, name)
        assert solver.max_iter == 4
    made = solvers.admm(**codes).made()
    assert made.learner == L1DictionaryADMM(0.1, 1.2, 0.3, 0.05, 4)
    assert made.dictionary_first
    detector = solvers.online(beta=0.7, **codes)
    assert detector.solver == solvers.oiadmm(beta=0.7, **codes)
    assert detector.starter == solvers.admm(**codes)
    assert solvers.batch_impl(**codes).solver == solvers.admm(**codes)
    squares = solvers.sparse_coding(7, 0.01).made()
    assert squares.learner == QuadraticLearner(BlockDescent(7, 0.01))
    assert squares.encoder == AutoEncoder(0.01, 10_000)
    assert squares.only_for == SquaredL2()
    assert (squares.sparse, squares.dictionary_first) == (True, True)
    assert solvers.l2_batch(sweeps=7, tol=1e-9).solver == solvers.sparse_coding(7, 1e-9)
    assert solvers.l2_batch(tol=1e-9, single=True).solver.tol == 1e-5  # what float32 meets
    assert solvers.l2_batch(tol=1e-3, single=True).solver.tol == 1e-3


def test_every_constant_of_paper_c_goes_where_it_belongs():
    half = SimpleNamespace(regulariser=Constrained(), transposed=False)
    made = solvers.rri(0.2, 0.3, max_sweeps=4).made()
    sweeps = made.choose(half)
    assert (sweeps.epsilon, sweeps.max_sweeps, sweeps.as_printed) == (0.2, 4, False)
    assert (made.xi, made.as_printed, made.rescales) == (0.3, False, True)
    with pytest.raises(ValueError, match="solver='rri' moves one entry at a time"):
        made.choose(SimpleNamespace(regulariser=Constrained(region=Simplex()), transposed=True))
    made = solvers.ogm(lambda_0=0.1, epsilon=0.2, xi=0.3, monotone=True, max_iter=5).made()
    step = made.choose(half)
    assert (step.lambda_0, step.epsilon, step.centre, step.max_iter) == (0.1, 0.2, 1.0, 5)
    assert (step.monotone, step.by_row, step.as_printed) == (True, False, False)
    assert (made.xi, made.rescales) == (0.3, False)
    printed = solvers.ogm(as_printed=True, by_row=True).made().choose(half)
    assert (printed.centre, printed.as_printed, printed.by_row) == (0.0, True, True)
    assert solvers.ogm(as_printed=True, centre=0.5).made().choose(half).centre == 0.5
    X = sparse.csr_array(np.array([[0.0, 2, np.nan], [2, 0, 0], [np.nan, 0, 4]]))
    symmetric = solvers.symmetric_rri(0.5).made()
    assert symmetric.small_change(X, 3) == pytest.approx(0.5 * 8 / 7)
    assert solvers.symmetric_rri(0.5, as_printed=True).made().small_change(X, 3) == 0.5
    assert solvers.SYMMETRIC_SOLVERS["auto"].small_change(X, 3) is None


def test_every_constant_of_paper_d_goes_where_it_belongs():
    learner = solvers.noncvx_sfw(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 7).made().make(4, False)
    assert learner == FrankWolfeLearner(
        PowerSchedule(0.1, 0.2, 0.3), PowerSchedule(0.4, 0.5, 0.6), True, 4, 7, True
    )
    learner = solvers.sfw(0.1, 1.2, 0.3, 0.4, 1.5, 0.6, 7, True).made().make(3, False)
    assert learner == FrankWolfeLearner(
        PowerSchedule(0.1, pytest.approx(0.2), 0.3),
        PowerSchedule(0.4, 0.5, 0.6),
        False,
        3,
        7,
        False,
    )
    solvers.sfw(step_scale=8.0, step_shift=8.0)
    with pytest.raises(ValueError, match="above one it leaves the ball"):
        solvers.sfw(step_scale=8.1, step_shift=8.0)
    aodl = solvers.aodl(0.1, 2, 3).made()
    assert aodl.make(3, False) == AlternatingLearner(0.1, 2, True, 3)
    assert not solvers.aodl(as_printed=True).made().make(3, False).bounded
    assert (aodl.powers, solvers.sfw().made().powers) == ((3,), (3, 4))
    auto = solvers.ORTHOGONAL_SOLVERS["auto"]
    assert auto.powers == (3,)
    kinds = [type(auto.make(3, drifts)).__name__ for drifts in (False, True)]
    assert kinds == ["RefinedLearner", "TrackedLearner"]


def test_every_constant_of_paper_e_goes_where_it_belongs():
    made = solvers.spsgd(a=1.0, b=2.0, tau=3.0, alpha=0.4, gamma=0.5, q=6, delta=0.7, tol=0.08,
                         max_iter=9, patience=10).made()  # fmt: skip
    assert made.learner == StochasticGradient(1.0, 2.0, 3.0, scaled=True)
    assert made.region == CoveredBox()
    codes = made.encoder.solver
    assert (codes.acceptance, codes.cut, codes.cuts) == (0.4, 0.5, 7)
    assert (codes.delta, codes.patience, codes.rule) == (0.7, 10, None)
    assert (made.encoder.stop.tol, made.encoder.max_iter) == (0.08, 9)
    printed = solvers.spsgd(as_printed=True).made()
    assert not printed.learner.scaled
    assert printed.region.as_printed
    guan = solvers.ol_guan(10, 2, 3, 0.4, 0.05).made()
    assert guan.learner == RobustApproximation(10, 2, 3, 0.4)
    assert guan.encoder == AutoEncoder(0.05)
    updates = Encoder(MultiplicativeUpdates(), SmallChange(0.2), 7, certify=False)
    lef = solvers.ol_lef(7, 0.2).made()
    assert (lef.encoder, lef.only_for, lef.region) == (updates, ItakuraSaito(), Simplex())
    wang = solvers.ol_wang(0.5, 7, 0.2).made()
    assert wang.encoder == updates
    assert wang.learner == StochasticGradient(0.5, 1.0, scaled=False, constant=True)
    assert solvers.ol_wang().made().learner == StochasticGradient(1.0, 1.0, constant=True)
    assert wang.only_outliers
    assert wang.region == CoveredBox()
    mu = solvers.mu(0.7).made()
    assert mu.encoder == Encoder(MultiplicativeUpdates(0.7, lift=0.0), Never(), 1, certify=False)
    assert (mu.exponent, mu.multiplicative, mu.sparse) == (0.7, True, True)


def test_names_of_solvers():
    assert solvers.name_of("auto") == "auto"
    assert solvers.name_of(solvers.opgd(0.1)) == "opgd"
    assert solvers.name_of(3) == "int"
    table = solvers.ONLINE_ROBUST_SOLVERS
    assert solvers.named_solver("auto", table) is table["auto"]
    assert solvers.named_solver(solvers.opgd(0.1), table).encoder.solver.kappa == 0.1
    for bad in ("nothing", 3, solvers.sfw()):
        with pytest.raises(ValueError, match="is not known; use 'auto', 'opgd' or 'oadmm'"):
            solvers.named_solver(bad, table)
