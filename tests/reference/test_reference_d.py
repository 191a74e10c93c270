"""Paper D beside references written from its text (`tests/reference/d`), step by step."""

import numpy as np
import pytest

from reference.d import aodl as aodl_reference
from reference.d import frank_wolfe as algorithm_1
from reference.d import measures, noncvx_sfw, sfw
from reference.d.compression import compression, experiment
from sensors import decoded
from thresher import OnlineOrthogonalDictionary, SensorCodec, frank_wolfe, load, save
from thresher.learning import StochasticFrankWolfe
from thresher.metrics import frank_wolfe_gap, orthogonal_error
from thresher.published.orthogonal import DictionaryAngles, DictionaryCompression
from thresher.sets import L1Ball, L2Ball, NuclearBall, Simplex, SpectralBall
from thresher.solvers import aodl, name_of
from thresher.solvers import noncvx_sfw as noncvx_solver
from thresher.solvers import sfw as sfw_solver

STEPS = (1, 2, 5, 20)
CLOSE = {"rtol": 1e-10, "atol": 1e-11}


def planted(B=16, N=8, L=20, seed=0):
    batches, truth, _ = measures.synthetic(np.random.default_rng(seed), N=N, B=B, L=L)
    return batches, truth, noncvx_sfw.start(np.random.default_rng(seed + 1), N)


def model(**parameters):
    return OnlineOrthogonalDictionary(random_state=0, verbose=0, **parameters)


def beside(batches, steps, **parameters):
    """The model after the steps that are looked at, beside the reference's."""
    fitted = model(**parameters)
    for t, (Y, step) in enumerate(zip(batches, steps, strict=True), start=1):
        fitted.partial_fit(Y)
        if t in STEPS:
            yield fitted, step


# ---------------------------------------------------------------------- Frank–Wolfe


@pytest.mark.parametrize("p", [3, 4])
@pytest.mark.parametrize("B", [16, 3])
def test_noncvx_sfw_is_algorithm_2(p, B):
    """With B = 3 the first gradients are singular, and the oracle is the nearest."""
    batches, _, start = planted(B)
    reference = noncvx_sfw.noncvx_sfw(batches, start, p=p)
    for fitted, step in beside(batches, reference, solver="noncvx_sfw", p=p, init=start):
        np.testing.assert_allclose(fitted.components_, step.D, **CLOSE)
        np.testing.assert_allclose(fitted.statistics_.G, step.G, **CLOSE)


@pytest.mark.parametrize("B", [16, 3])
def test_sfw_is_baseline_1(B):
    batches, _, start = planted(B)
    for fitted, step in beside(batches, sfw.sfw(batches, start), solver="sfw", init=start):
        np.testing.assert_allclose(fitted.components_, step.D, **CLOSE)
        np.testing.assert_allclose(fitted.statistics_.G, step.G, **CLOSE)
        assert np.linalg.norm(fitted.components_, 2) <= 1 + 1e-12  # in the ball, not orthogonal


@pytest.mark.parametrize(
    ("solver", "reference"),
    [(noncvx_solver, noncvx_sfw.noncvx_sfw), (sfw_solver, sfw.sfw)],
)
def test_every_constant_of_frank_wolfe_can_be_set(solver, reference, tmp_path):
    batches, _, start = planted(B=40)  # no gradient is singular
    given = solver(
        averaging_scale=3.0,
        averaging_shift=9.0,
        averaging_power=0.6,
        step_scale=1.5,
        step_shift=4.0,
        step_power=0.8,
        as_printed=True,
    )
    steps = reference(
        batches,
        start,
        rho=lambda t: 3 * (t + 9) ** -0.6,
        gamma=lambda t: 1.5 * (t + 4) ** -0.8,
        as_printed=True,
    )
    for fitted, step in beside(batches, steps, solver=given, init=start):
        np.testing.assert_allclose(fitted.components_, step.D, **CLOSE)
    save(fitted, tmp_path / "model")
    assert load(tmp_path / "model").solver == given


def test_as_printed_a_singular_gradient_has_the_oracle_of_the_svd():
    rng = np.random.default_rng(0)
    G, D = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 8)), noncvx_sfw.start(rng, 8)
    printed, nearest = (
        StochasticFrankWolfe(SpectralBall(), nearest=nearest, averaging=lambda t: 1.0)
        for nearest in (False, True)
    )
    # With γ = 2/3^(3/4) the step tells the oracle.
    for method, as_printed in ((printed, True), (nearest, False)):
        S = noncvx_sfw.lmo(G, D, as_printed=as_printed)
        gamma = algorithm_1.gamma_t(1)
        after = method.advance(method.begin(D), G).X
        np.testing.assert_allclose(after, (1 - gamma) * D + gamma * S, **CLOSE)
    batches, _, start = planted(B=3)
    one, other = (
        model(solver=noncvx_solver(as_printed=flag), init=start).partial_fit(batches[0])
        for flag in (True, False)
    )
    assert np.linalg.norm(one.components_ - other.components_) > 0.1


def test_the_start_is_the_batch_version_on_the_first_block():
    """Section V-C: Algorithm 2 with the same block in every step, and then t = 1 and G = 0."""
    batches, _, _ = planted(L=3)
    learner = noncvx_solver().learner(3, False)
    D_init = noncvx_sfw.start(np.random.default_rng(5), 8)
    D = learner.start(batches[0], np.ones(16), np.random.default_rng(5))
    *_, last = noncvx_sfw.batch_start(batches[0], D_init)
    np.testing.assert_allclose(D, last.D, **CLOSE)
    short = noncvx_solver(start_iterations=2).learner(3, False)
    D = short.start(batches[0], np.ones(16), np.random.default_rng(5))
    *_, last = noncvx_sfw.batch_start(batches[0], D_init, 2)
    np.testing.assert_allclose(D, last.D, **CLOSE)


@pytest.mark.parametrize("solver", ["noncvx_sfw", "sfw"])
def test_the_gap_is_a_column_of_the_history(solver):
    batches, _, start = planted()
    reference = {"noncvx_sfw": noncvx_sfw.noncvx_sfw, "sfw": sfw.sfw}[solver]
    fitted, D, gaps = model(solver=solver, init=start), start, []
    for Y, step in zip(batches, reference(batches, start), strict=True):
        fitted.partial_fit(Y)
        gaps.append(measures.fw_gap(step.G, D))
        D = step.D
    np.testing.assert_allclose(fitted.history_.column("gap"), gaps, **CLOSE)
    assert np.isnan(model().partial_fit(batches[0]).history_.column("gap")).all()


def test_measures():
    batches, truth, start = planted()
    Y = np.vstack(batches)
    gap = measures.fw_gap(noncvx_sfw.gradient(Y, start), start)
    assert frank_wolfe_gap(Y, start) == pytest.approx(gap, rel=1e-12)
    error = orthogonal_error(truth, start)
    assert error == pytest.approx(measures.error(start, truth), rel=1e-12)


@pytest.mark.parametrize(
    ("region", "oracle"),
    [
        (SpectralBall(), algorithm_1.spectral_ball),
        (NuclearBall(), algorithm_1.trace_norm_ball),
        (L1Ball(), lambda G: algorithm_1.lp_ball(G, 1)),
        (L2Ball(), lambda G: algorithm_1.lp_ball(G, 2)),
        (Simplex(), algorithm_1.simplex),
    ],
)
def test_frank_wolfe_is_algorithm_1(region, oracle):
    """One row for the balls of rows, which the paper has for whole matrices."""
    rng = np.random.default_rng(0)
    shape = (1, 6) if isinstance(region, L1Ball | L2Ball | Simplex) else (4, 6)
    start = region.project(rng.random(shape))
    targets = rng.normal(size=(20, 5, *shape))
    states = []
    frank_wolfe(
        lambda X, t: X - targets[t - 1].mean(axis=0),
        region,
        start,
        n_steps=20,
        callback=states.append,
    )
    steps = algorithm_1.frank_wolfe(targets, start, lambda X, y: X - y, oracle)
    for state, step in zip(states, steps, strict=True):
        np.testing.assert_allclose(state.X, step.X, **CLOSE)
        np.testing.assert_allclose(state.G, step.G, **CLOSE)


def test_section_v_c_learns_first_and_then_codes():
    batches, _, start = planted(L=6)
    first = model(
        solver="noncvx_sfw", init=start, n_passes=20, batch_size=16, shuffle=False, tol=0.0
    ).fit(batches[0])
    fitted = model(solver="noncvx_sfw", init=first.components_, n_nonzero=3)
    reference = list(experiment(batches[0], batches[1:], start, 3))
    np.testing.assert_allclose(first.components_, reference[0].D, **CLOSE)
    for Y, coded in zip(batches[1:], reference[1:], strict=True):
        C = fitted.partial_fit(Y).transform(Y)
        np.testing.assert_allclose(C, coded.C, **CLOSE)
        np.testing.assert_allclose(fitted.inverse_transform(C), coded.Y_hat, **CLOSE)


# ----------------------------------------------------------------------- online AODL


@pytest.mark.parametrize("constants", [{}, {"sweeps": 3}, {"as_printed": True}])
def test_aodl_is_baseline_3(constants):
    batches, _, start = planted()
    batches = [3 * Y for Y in batches]
    solver = aodl(penalty=0.5, **constants)
    reference = aodl_reference.aodl(batches, start, 0.5, **constants)
    for fitted, step in beside(batches, reference, solver=solver, init=start):
        np.testing.assert_allclose(fitted.components_, step.D, **CLOSE)
        for name in "AB":  # sums of some hundreds
            found, wanted = getattr(fitted.statistics_, name), getattr(step, name)
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-9)
    assert np.linalg.norm(step.D @ step.D.T - np.eye(8)) > 0.1  # not orthogonal
    Y = batches[0]
    C = aodl_reference.compress(Y, step.D, 0.5, 3)
    np.testing.assert_allclose(fitted.set_params(n_nonzero=3).transform(Y), C, **CLOSE)


def test_aodl_starts_with_codes_and_atoms_of_the_first_block_in_turn():
    Y = planted()[0][0]
    learner = aodl(penalty=0.5, start_iterations=7).learner(3, False)
    D = learner.start(Y, np.ones(16), np.random.default_rng(5))
    D_init = noncvx_sfw.start(np.random.default_rng(5), 8)
    *_, last = aodl_reference.batch_start(Y, D_init, 0.5, 7)
    np.testing.assert_allclose(D, last.D, **CLOSE)


def test_aodl_takes_gaps_weights_and_files_and_says_what_it_minimises(tmp_path):
    Y = np.vstack(planted()[0])
    Y[::7, 2] = np.nan
    weight = np.random.default_rng(0).integers(1, 3, len(Y)).astype(float)
    fitted = model(solver="aodl", batch_size=50, n_passes=2).fit(Y, sample_weight=weight)
    assert name_of(aodl()) == "aodl"
    lengths = np.linalg.norm(fitted.components_, axis=1)
    assert lengths.max() <= 1 + 1e-12
    problem, C = fitted.problem(), fitted.transform(Y)
    assert problem.certificate(fitted.impute(Y), C).max() < 1e-9
    assert problem.regulariser.form.l1 == pytest.approx(1.2 / np.sqrt(8))
    assert (fitted.energies_ >= 0).all()
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model").partial_fit(Y[:40])
    np.testing.assert_array_equal(again.components_, fitted.partial_fit(Y[:40]).components_)


# --------------------------------------------------------------- edge and cloud


def three_sparse(n, N=12, seed=0):
    """Rows that are three atoms of an orthogonal dictionary each."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(n, N)) * (rng.random((n, N)).argsort(axis=1) < 3)
    return C @ noncvx_sfw.start(rng, N), noncvx_sfw.start(rng, N)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("threshold", [0.1, 0.4])
def test_the_scheme_is_the_four_steps(threshold, as_printed):
    """Codes, resends, both dictionaries, and what the cloud recovers."""
    Y, start = three_sparse(120)
    ours = DictionaryCompression(12, 4, threshold, start=start, as_printed=as_printed)
    slots = compression(Y.reshape(20, 6, 12), start, 4, threshold, as_printed=as_printed)
    n_dictionaries, D_cloud = 0, None
    for t, slot in enumerate(slots):
        recovered = []
        for sent in ours.slot(Y[6 * t : 6 * t + 6]):
            if isinstance(sent, DictionaryAngles):
                D_cloud = sent.matrix(12)
                n_dictionaries += 1
            else:
                recovered.append(sent.decoded(D_cloud))
        np.testing.assert_allclose(np.vstack(recovered), slot.Y_hat, **CLOSE)
        np.testing.assert_allclose(ours.D, slot.learn.D, **CLOSE)
        np.testing.assert_allclose(D_cloud, slot.D_cloud, **CLOSE)
        n_dictionaries -= slot.resent.sum()
        assert n_dictionaries == 0


def test_packets_of_the_paper_have_the_bytes_of_the_reference():
    """The reference counts neither frames (10 bytes) nor heads (2 bytes) of packets."""
    Y, start = three_sparse(120)
    codec = SensorCodec(error=0.1, n_nonzero=4, mode="paper")
    encoder, decoder = codec.encoder(12, start=start), codec.decoder()
    for t, slot in enumerate(compression(Y.reshape(20, 6, 12), start, 4, 0.1)):
        before = dict(encoder.n_packets_), dict(encoder.n_bytes_)
        packets = encoder.encode(Y[6 * t : 6 * t + 6])
        np.testing.assert_allclose(decoded(packets, decoder), slot.Y_hat, **CLOSE)
        counts, sizes = (
            sum(now[kind] - then[kind] for kind in ("rows", "dictionary"))
            for now, then in zip((encoder.n_packets_, encoder.n_bytes_), before, strict=True)
        )
        assert sizes - counts * (10 + 2) == slot.bytes_honest


@pytest.mark.parametrize(("parameter", "value"), [("whiten", True), ("p", 4)])
def test_aodl_refuses_what_it_does_not_have(parameter, value):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match=parameter):
        model(solver="aodl", **{parameter: value}).fit(X)
