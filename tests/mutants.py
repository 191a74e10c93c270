"""Seeded mistakes that the tests must notice: ``python tests/mutants.py``.

Every mutant changes one place of a copy of the library; the tests that are named with it run
against that copy, and one of them has to fail. A mutant whose old text is not there exactly once
is stale, one that cannot be imported or compiled is broken: neither counts as killed. First the
tests run against an unchanged copy, or a failure would prove nothing.

In the pytest processes that it starts, this file is also the plugin which makes sure that the copy
is what was imported, and which writes down the first failure.
"""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 180  # seconds for a mutant
BROKEN = {"ImportError", "ModuleNotFoundError", "NameError", "SyntaxError", "TypingError"}


class Mutant(NamedTuple):
    """A mistake: in which file, what instead of what, and the tests (a pytest id) that notice."""

    name: str
    file: str
    old: str
    new: str
    test: str


class Result(NamedTuple):
    """What became of a mutant; ``test`` is the first that failed."""

    mutant: Mutant
    outcome: str
    test: str
    seconds: float


def promise(check: str, estimator: str = "OnlineRobustNMF()") -> str:
    return f"test_estimators.py::test_promise[{estimator}-check_{check}]"


# fmt: off
MUTANTS = [
    Mutant("sphere instead of the ball", "sets/balls.py",
           "P /= np.maximum(length / self.radius, 1)",
           "P /= np.maximum(length, 1e-12) / self.radius",
           "test_sets.py::test_ball_is_not_a_sphere"),
    Mutant("ℓ2 ball without the positive part", "sets/balls.py",
           "P = np.maximum(V, 0)\n        length", "P = V.copy()\n        length",
           "test_sets.py::test_projection_is_the_nearest_member"),
    Mutant("ℓ1 ball moves rows that lie inside", "sets/balls.py", "P.sum(axis=1) > self.radius",
           "P.sum(axis=1) > 0", "test_sets.py::test_projection_is_the_nearest_member"),
    Mutant("simplex threshold off by one", "sets/simplex.py", "falling > thresholds, axis=1) - 1",
           "falling > thresholds, axis=1) - 2",
           "test_sets.py::test_projection_is_the_nearest_member"),
    Mutant("elastic-net multiplier with a wrong sign", "sets/balls.py",
           "b_last**2 - 4 * a_last * c_last", "b_last**2 + 4 * a_last * c_last",
           "test_sets.py::test_projection_is_the_nearest_member"),
    Mutant("soft threshold with a flipped sign", "penalties/elastic_net.py", "return V - np.clip(",
           "return V + np.clip(", "test_penalties.py::test_prox_against_cvxpy"),
    Mutant("prox ignores l2", "penalties/elastic_net.py", "shifted / (1 + step * self.l2)",
           "shifted / 1", "test_penalties.py::test_prox_against_cvxpy"),
    Mutant("prox ignores the box", "penalties/elastic_net.py", "return box.project(shifted)",
           "return shifted.copy()", "test_penalties.py::test_prox_against_cvxpy"),
    Mutant("group prox without √size", "penalties/group.py",
           "step * (self.weight * self.mix * float(np.sqrt(len(members))))",
           "step * (self.weight * self.mix)", "test_penalties.py::test_three_point_inequality"),
    Mutant("bounded group by shrinking, then clipping", "penalties/group.py",
           "R[beyond] = _clipped(e, high, t, box)",
           "R[beyond] = np.clip(R[beyond], box.lower, box.upper)",
           "test_penalties.py::test_bounded_group_is_not_shrink_then_clip"),
    Mutant("envelope gradient with a flipped sign", "losses/envelope.py",
           "G = self._outliers(E, 1.0) - E", "G = E - self._outliers(E, 1.0)",
           "test_losses.py::test_gradient_by_fourth_order_differences"),
    Mutant("bound on outliers ignored", "losses/envelope.py", "Box(lower, bound))",
           "Box(0.0 if nonnegative else -np.inf, np.inf))", "test_losses.py::test_huber_by_hand"),
    Mutant("sign of outliers ignored", "losses/envelope.py",
           "lower = 0.0 if nonnegative else -bound", "lower = -bound",
           "test_losses.py::test_huber_by_hand"),
    Mutant("missing entries counted", "losses/envelope.py", "E[weight == 0] = 0",
           "E[weight == 0] *= 1", "test_losses.py::test_missing_entries_do_not_matter"),
    Mutant("prox of the envelope with a wrong step", "losses/envelope.py",
           "(self._outliers(E, 1 + t) - E)", "(self._outliers(E, t) - E)",
           "test_losses.py::test_prox_meets_its_optimality_condition"),
    Mutant("opgd with a step beyond 2/L", "encoding/opgd.py", '"eta": self.kappa /',
           '"eta": 3 * self.kappa /', "test_encoding.py::test_squared_loss_against_nnls[opgd]"),
    Mutant("opgd without projection", "encoding/opgd.py",
           'problem.regulariser.prox(state["C"] - eta * gradient, eta)',
           'state["C"] - eta * gradient',
           "test_encoding.py::test_squared_loss_against_nnls[opgd]"),
    Mutant("oadmm with the old h in its r-step", "encoding/oadmm.py",
           "V = (X - H @ D + rho * Q - beta)",
           'old, state["H"] = state.get("H", U), H\n            V = (X - old @ D + rho * Q - beta)',
           "test_encoding.py::test_oadmm_takes_the_new_codes_in_its_outlier_step"),
    Mutant("oadmm returns the point before its projection", "encoding/oadmm.py",
           'return state["U"]', 'return state["U"] + state["alpha"] / self.rho',
           "test_encoding.py::test_admm_returns_feasible_copies"),
    Mutant("block encoder with a flipped dual", "encoding/block_admm.py",
           '/ 2, (state["V"] - state["Q"]) / 2', '/ 2, (state["Q"] - state["V"]) / 2',
           "test_kernels.py::test_rounds_of_the_block_encoder"),
    Mutant("compiled over-relaxation on the wrong side", "kernels/block_admm.py",
           "a, rest = relaxation, one - relaxation", "a, rest = one - relaxation, relaxation",
           "test_kernels.py::test_rounds_of_the_block_encoder"),
    Mutant("certificate in the units of the data", "encoding/problem.py",
           "self.gradient_scale(X, weight), np.finfo(C.dtype).tiny", "1, np.finfo(C.dtype).tiny",
           "test_encoding.py::test_certificate_is_zero_only_at_the_optimum"),
    Mutant("certificate is the plain gradient", "encoding/problem.py",
           "moved = self.regulariser.prox(C - gradient / L, 1 / L)", "moved = C - gradient / L",
           "test_encoding.py::test_certificate_is_zero_only_at_the_optimum"),
    Mutant("Newton without line search", "kernels/newton.py",
           "t = _search(e, q, w, descent, linear, quadratic, l1, l2, lower, upper, flat)",
           "t = one", "test_encoding.py::test_newton_is_exact_and_monotone"),
    Mutant("Newton keeps the bounds that block", "kernels/newton.py",
           "if z[i] < zero and c[k] + d[k] <= -1e-6 * step * z[i]:", "if z[i] < zero and z[i] > 1:",
           "test_encoding.py::test_newton_drops_all_blocking_bounds_in_one_step"),
    Mutant("rows that are done do not leave", "encoding/iterate.py", "elif leaving.any():",
           "elif leaving.all():",
           "test_encoding.py::test_rows_leave_when_they_are_done"),
    Mutant("status of non-finite rows lost", "encoding/iterate.py",
           "status[rows[broken]] = Status.NOT_FINITE", "status[rows[broken]] = Status.MAX_ITER",
           "test_encoding.py::test_non_finite_is_a_status_not_a_hang"),
    Mutant("dictionary gradient with a flipped sign", "learning/surrogate.py",
           "return self.A @ D - self.B", "return self.B - self.A @ D",
           "test_learning.py::test_steps_agree_with_each_other_and_with_cvxpy"),
    Mutant("frozen atoms forgotten in B", "learning/surrogate.py",
           "B = B - A[:, ~free] @ D[~free].astype(np.float64)", "B = B.copy()",
           "test_learning.py::test_frozen_atoms_stay_and_the_rest_is_optimal"),
    Mutant("surrogate with a flipped gradient", "learning/surrogate.py", "self.A @ D - pull",
           "self.A @ D + pull", "test_learning.py::test_surrogate_majorises_the_envelope"),
    Mutant("half-life in batches", "learning/forgetting.py", "-n_batch / self.samples",
           "-1 / self.samples", "test_learning.py::test_forgetting_counts_samples_not_batches"),
    Mutant("dictionary ADMM returns W", "learning/dictionary_admm.py",
           "before = now\n        return Q", "before = now\n        return W",
           "test_learning.py::test_steps_agree_with_each_other_and_with_cvxpy"),
    Mutant("block descent without projection", "learning/block_descent.py",
           "problem.regulariser.prox(target[None], 1 / A[k, k])[0]", "target",
           "test_learning.py::test_steps_agree_with_each_other_and_with_cvxpy"),
    Mutant("compiled block descent without the ball", "kernels/block_descent.py",
           "scale = radius / length if length > radius else one", "scale = one",
           "test_kernels.py::test_sweep"),
    Mutant("statistics from the raw samples", "learning/surrogate.py",
           "fit.dictionary_gradient(C * weights[:, None]).astype(np.float64)",
           "(C.T @ (C @ fit.D - fit.X)).astype(np.float64)",
           promise("missing_entries_do_not_matter")),
    Mutant("frozen atoms move", "engine/method.py",
           "free = np.ones(len(state.D), bool) if self.frozen is None else ~self.frozen",
           "free = np.ones(len(state.D), bool)",
           "test_estimators.py::test_frozen_atoms_stay"),
    Mutant("the past is not discounted", "engine/method.py",
           "past = state.statistics.discounted(self.forgetting(batch.weight, seen))",
           "past = state.statistics",
           "test_engine.py::test_the_past_is_discounted_once"),
    Mutant("the past is discounted twice", "engine/method.py",
           "past = state.statistics.discounted(self.forgetting(batch.weight, seen))",
           "past = state.statistics.discounted(self.forgetting(batch.weight, seen) ** 2)",
           "test_engine.py::test_the_past_is_discounted_once"),
    Mutant("only the first block of a batch counts", "engine/stream.py",
           "pool.map(code_and_summarise, method.blocks(batch)))",
           "pool.map(code_and_summarise, method.blocks(batch))[:1])",
           "test_engine.py::test_every_block_of_a_batch_counts"),
    Mutant("blocks come back in another order", "engine/pool.py",
           "return [future.result() for future in futures] + [last]",
           "return [last] + [future.result() for future in futures]",
           promise("threads_do_not_matter", "RobustNMF()")),
    Mutant("streamed blocks come back in another order", "engine/pool.py",
           "while waiting:\n            yield waiting.popleft()",
           "while waiting:\n            yield waiting.pop()",
           "test_estimators.py::test_scores_come_back_in_the_order_of_the_samples"),
    Mutant("history never thinned", "engine/history.py", "if len(self._rows) > LONGEST:",
           "if len(self._rows) < 0:",
           "test_engine.py::test_history_is_thinned"),
    Mutant("position does not advance", "engine/stream.py", "batch_index=self.batch_index + 1",
           "batch_index=self.batch_index", promise("resume_gives_the_same_bits")),
    Mutant("every pass and every seed in the same order", "streams/batches.py",
           "np.random.default_rng([self.seed, pass_index])", "np.random.default_rng(0)",
           "test_engine.py::test_order_depends_on_seed_and_pass"),
    Mutant("codes that got worse are kept", "engine/batch.py",
           "better = losses < self.losses[rows]", "better = losses < np.inf",
           "test_engine.py::test_neither_half_step_raises_the_objective"),
    Mutant("sharp steps kept although the objective rose", "engine/batch.py",
           "if self.objective() <= last:", "if self.objective() <= last + 1e9:",
           "test_engine.py::test_neither_half_step_raises_the_objective"),
    Mutant("badmm with a flipped dual", "engine/batch.py",
           "self.Delta = self.Delta + rho * (W - Psi)", "self.Delta = self.Delta - rho * (W - Psi)",
           "test_engine.py::test_published_batch_methods_reach_what_auto_reaches"),
    Mutant("checksum not checked", "persistence/files.py",
           "if found != checksum:",
           'if metadata["checksum"] == "":', promise("save_and_load")),
    Mutant("bad input changes n_features_in_", "estimators/online.py",
           "samples = self._checked(X, known=False)\n        seed",
           "self._learn_features(X)\n        samples = self._checked(X, known=False)\n        seed",
           "test_estimators.py::test_bad_samples_of_another_width_change_nothing"),
    Mutant("calibration off by one", "estimators/base.py", "losses[place - 1]", "losses[place - 2]",
           "test_estimators.py::test_threshold_is_the_order_statistic_that_was_promised"),
    Mutant("dtype lost", "engine/method.py", "D = np.ascontiguousarray(D, dtype=dtype)",
           "D = np.ascontiguousarray(D, dtype=float)", promise("dtype_stays")),
    Mutant("grow drops the statistics", "engine/state.py",
           "self.statistics.grow(n_features, len(self.D) + len(atoms))",
           "self.statistics.discounted(0.0).grow(n_features, len(self.D) + len(atoms))",
           "test_estimators.py::test_grow_keeps_what_was_learned"),
    Mutant("interrupt swallowed", "estimators/online.py",
           "with Pool(self.n_jobs) as pool, ProgressBar",
           'with __import__("contextlib").suppress(KeyboardInterrupt), Pool() as pool, ProgressBar',
           promise("interrupt_leaves_a_model")),
    Mutant("resume starts the pass anew", "estimators/online.py",
           "self._run(source, self._position,",
           "self._run(source, Position(self._position.pass_index),",
           promise("resume_gives_the_same_bits")),
    Mutant("coherence without its normalisation", "metrics/topics.py",
           "information / -np.log(together[meet])", "information / 1",
           "test_metrics.py::TestTopicCoherence"),
    Mutant("words that never meet count as independent", "metrics/topics.py",
           "npmi = np.full(together.shape, -1.0)", "npmi = np.full(together.shape, 0.0)",
           "test_metrics.py::TestTopicCoherence"),
    Mutant("purity of labels instead of clusters", "metrics/clusters.py",
           "pairs.max(axis=0).sum() / pairs.sum()", "pairs.max(axis=1).sum() / pairs.sum()",
           "test_metrics.py::TestPurity"),
    Mutant("Gamma noise with the scale as its mean", "datasets/divergence_stream.py",
           "rng.gamma(_GAMMA_SHAPE, clean / _GAMMA_SHAPE)",
           "rng.gamma(1.0, clean)", "test_datasets.py::TestDivergenceStream"),
    Mutant("outliers of half the size", "datasets/divergence_stream.py",
           "clean + _OUTLIER_SIZE * draw_outliers(",
           "clean + _OUTLIER_SIZE / 2 * draw_outliers(", "test_datasets.py::TestDivergenceStream"),
    Mutant("counts of files in bytes", "datasets/text.py",
           'part["data"].astype(np.int64)', 'part["data"]', "test_datasets.py::TestTextCounts"),
    Mutant("term frequency not damped", "tasks/tfidf.py",
           "((1 + np.log(counts.data)) * idf)", "(counts.data * idf)", "test_tfidf.py"),
    Mutant("frequencies of the last batch only", "tasks/tfidf.py",
           "frequency if first else self.document_frequency_ + frequency", "frequency",
           "test_tfidf.py"),
    Mutant("shares by code, whatever the scale of atoms", "tasks/topics.py",
           "explained = codes * np.asarray(self.model_.components_, dtype=np.float64).sum(axis=1)",
           "explained = codes", "test_topics.py"),
    Mutant("a refused batch counts all the same", "tasks/topics.py",
           "copy.deepcopy(self.tfidf_)", "self.tfidf_", "test_topics.py"),
    Mutant("the worst start is taken", "engine/starts.py", "losses.index(min(losses))",
           "losses.index(max(losses))",
           "test_general_divergences.py::test_the_best_start_is_taken_and_its_run_is_unchanged"),
    Mutant("documents without words are told as rare words", "tasks/words.py",
           "if not seen:", "if not texts:",
           "test_topics.py::test_wrong_documents_and_parameters_are_explained"),
    Mutant("stream loses what a batch leaves over", "tasks/documents.py",
           "held, n_held = [joined[start:]] if start < n_held else [], n_held - start",
           "held, n_held = [], 0", "test_topics.py::test_batches_have_the_sizes_asked_for"),
    Mutant("bound of a dual that is not feasible", "kernels/lad_bounds.py",
           "value - to_bottom * (value - bottom)", "value",
           "test_least_absolute.py::test_the_bound_on_steps_is_kept_and_the_certificate_a_bound"),
    Mutant("zeros of sparse rows at full weight", "kernels/lad_sparse.py",
           "l1 + zero_weight * max(", "l1 + max(", "test_least_absolute.py::test_sparse_is_dense"),
    Mutant("sums of float32 atoms in float32", "kernels/lad_sparse.py", "one = np.float64(1)",
           "one = Dt.dtype.type(1)", "test_least_absolute.py::test_float32"),
    Mutant("weights of ties forgotten", "kernels/weighted_median.py", "before += below + equal",
           "before += below", "test_kernels.py::test_weighted_select"),
    Mutant("zeros of dense rows at full weight", "encoding/least_absolute.py",
           "w[x == 0] *= loss.zero_weight", "w[x == 0] *= 1",
           "test_least_absolute.py::test_sparse_is_dense"),
    Mutant("KL without its floor", "losses/separable.py",
           "y = np.maximum(Y, 0) + floor if self.positive_prediction else Y", "y = Y",
           "test_divergences.py::test_finite_at_the_edge_of_the_domain"),
    Mutant("floor with a unit of its own", "losses/separable.py",
           "largest * X.dtype.type(FLOOR)", "X.dtype.type(FLOOR) + 0 * largest",
           "test_divergences.py::test_homogeneous"),
    Mutant("α near its limit by the naive formula", "losses/powers.py",
           "return log_u if t == 0 else np.expm1(t * log_u) / t",
           "return log_u if t == 0 else (np.exp(t * log_u) - 1) / t",
           "test_divergences.py::test_limits_are_reached_without_cancellation"),
    Mutant("KL's proximal map takes the wrong root", "losses/powers.py",
           "np.where(b > 0, far / 2, small)", "np.where(b > 0, small, far / 2)",
           "test_divergences.py::test_prox_against_cvxpy"),
    Mutant("β < 1 with the exponent of β > 1", "losses/powers.py",
           "return max(2 - self.beta, 0.0), max(self.beta - 1, 0.0)", "return 1.0, 0.0",
           "test_general_divergences.py::test_ratio_statistics_majorise_the_divergence"),
    Mutant("a wrong derivative passes", "losses/generators.py",
           "wrong = np.abs(slopes - expected) > scale", "wrong = np.abs(slopes - expected) > 1e9",
           "test_divergences.py::test_wrong_pairs_are_refused"),
    Mutant("zeros of sparse rows cost nothing", "losses/fit.py",
           "total += self.loss.zero_slope * (self.C @ self.row_sums)", "total += 0",
           "test_fit.py::test_sparse_is_dense"),
    Mutant("certificate forgets atoms that want in", "encoding/problem.py",
           "certificate: Array = total + np.maximum(wanted, 0).max(axis=1, initial=0)",
           "certificate: Array = total", "test_fit.py::test_certificate_of_rows_without_codes"),
    Mutant("covered box projects what was clipped", "sets/covered.py",
           "project_rows_on_simplex(V[:, bare].T, self.least).T",
           "project_rows_on_simplex(P[:, bare].T, self.least).T",
           "test_general_divergences.py::test_covered_box_against_cvxpy"),
    Mutant("statistics do not follow the rescaling", "learning/ratio.py",
           "P = P * sizes ** (1 + self.b)", "P = P.copy()",
           "test_general_divergences.py::test_rescaling_changes_no_prediction"),
    Mutant("published steps keep their unit", "learning/stochastic_gradient.py",
           "eta = eta * seen / curvature if curvature > 0 else 0.0", "eta = eta * 1e-3",
           "test_general_divergences.py::test_published_steps_are_free_of_scale_too"),
    Mutant("the constant step falls", "learning/stochastic_gradient.py",
           "(self.b if self.constant else past.weight + self.b)", "(past.weight + self.b)",
           "test_general_divergences.py::test_constant_step_is_that_of_wang"),
    Mutant("Armijo accepts anything", "encoding/subgradient.py",
           "(block.objective(trial) <= value + self.acceptance * fall)", "True",
           "test_general_divergences.py::test_published_codes_approach_the_optimum"),
    Mutant("multiplicative updates are not checked", "encoding/multiplicative.py",
           "exponent[rose] /= 2", "exponent[rose] *= 4",
           "test_general_divergences.py::test_multiplicative_codes_never_rise_and_approach_the_optimum"),
    Mutant("squares in K dimensions lose a root", "encoding/compressed.py",
           "(vectors / roots).astype(problem.D.dtype)", "vectors.astype(problem.D.dtype)",
           "test_general_divergences.py::test_exact_codes_against_cvxpy"),
    Mutant("a met entry has no curvature", "kernels/envelope.py",
           "sums[f] += n * (abs(g[f]) / e if e > zero else bound)",
           "sums[f] += n * (abs(g[f]) / e if e > zero else zero)",
           "test_fit.py::test_entries_that_are_met_have_the_curvature_of_an_inlier"),
    Mutant("entries off the diagonal count once", "kernels/symmetric.py",
           "weights[used] = 2 * h", "weights[used] = h",
           "test_symmetric.py::test_each_entry_is_the_best_of_all_candidates"),
    Mutant("the concave side is assumed away", "kernels/symmetric.py",
           "    if r <= m:\n        return _convex_side(values, weights, n, total, r, m, room)\n"
           "    return _concave_side(values, weights, n, total, r, m, room)",
           "    return _convex_side(values, weights, n, total, r, max(m, r), room)",
           "test_symmetric.py::test_each_entry_is_the_best_of_all_candidates"),
    Mutant("a piece is clipped to one end only", "kernels/symmetric.py",
           "    return max(left, -0.5 * slope)", "    return -0.5 * slope",
           "test_symmetric.py::test_each_entry_is_the_best_of_all_candidates"),
    Mutant("zeros of a similarity cost nothing", "kernels/symmetric.py",
           "values[used], weights[used] = 0.0, 2 * (sums[c] - seen)",
           "values[used], weights[used] = 0.0, 0.0 * (sums[c] - seen)",
           "test_symmetric.py::test_each_entry_is_the_best_of_all_candidates"),
    Mutant("the diagonal moves like the rest", "kernels/symmetric.py",
           "(best + x if t == on_diagonal else H[stored[t], c])", "H[stored[t], c]",
           "test_symmetric.py::test_each_entry_is_the_best_of_all_candidates"),
    Mutant("half of the zeros in the loss", "kernels/symmetric.py",
           "loss += max((rest * H[j]).sum(), 0.0)", "loss += max((rest * H[j]).sum(), 0.0) / 2",
           "test_symmetric.py::test_loss_is_the_norm"),
    Mutant("symmetric squares step too far", "learning/symmetric.py", "H = H * ratio**0.25",
           "H = H * ratio", "test_symmetric.py::test_squared_steps_never_raise_the_squared_loss"),
    Mutant("a gap is filled from itself", "learning/symmetric.py", "(rows)[j, i].A1",
           "(rows)[i, j].A1", "test_symmetric.py::test_a_gap_is_filled_from_its_mirror_image"),
    Mutant("similarity without the square", "tasks/segmentation.py",
           "-((d_F / feature_scale) ** 2)", "-(d_F / feature_scale)",
           "test_segmentation.py::test_similarity_is_formula_62"),
    Mutant("similarity divided by the degree, not its root", "tasks/segmentation.py",
           "root = np.sqrt(W.sum(axis=1))", "root = W.sum(axis=1)",
           "test_segmentation.py::test_normalised_similarity_has_the_root_of_the_degrees_as_eigenvector"),
    Mutant("codes compared by distance, not angle", "tasks/recognition.py",
           '"codes": "cosine"', '"codes": "euclidean"',
           "test_faces.py::TestRecognizer::test_algorithm_5_takes_the_largest_cosine"),
    Mutant("projection by the transpose", "tasks/recognition.py", "X @ np.linalg.pinv(D)",
           "X @ D.T",
           "test_faces.py::TestRecognizer::test_algorithm_4_takes_the_nearest_projection"),
    Mutant("clusters may share a label", "metrics/clusters.py",
           "matched = linear_sum_assignment(pairs, maximize=True)",
           "matched = pairs.argmax(axis=0), np.arange(pairs.shape[1])",
           "test_metrics.py::TestPurity::test_accuracy_is_the_best_of_all_matchings"),
    Mutant("Laplace noise √2 too wide", "datasets/image_noise.py", "std / np.sqrt(2)", "std",
           "test_faces.py::TestNoise::test_laplace_and_gaussian_have_their_moments"),
    Mutant("what rounding left is a pivot", "encoding/least_absolute.py",
           "_NOTHING_BESIDE = 1e-14", "_NOTHING_BESIDE = 1e-200",
           "test_least_absolute.py::test_what_rounding_left_in_a_dictionary_is_no_pivot"),
    Mutant("ℓ1 penalty does not shift the median", "kernels/rank_one.py",
           "target = (total - linear) / 2", "target = total / 2",
           "test_manhattan.py::test_last_entry_of_a_sweep_is_at_its_minimum"),
    Mutant("Theorem 3 ignores the end of a piece", "kernels/rank_one.py",
           "if root < value:", "if True:", "test_manhattan.py::test_theorem_3_at_kinks_and_beyond"),
    Mutant("residual is not kept", "kernels/rank_one.py",
           "_shift(e, dtype(new - c), d)", "_shift(e, dtype(0), d)",
           "test_manhattan.py::test_last_entry_of_a_sweep_is_at_its_minimum"),
    Mutant("sequence Z is centred at zero, as printed", "engine/nesterov.py",
           "piece.prox(start - past / L,", "piece.prox(-past / L,",
           "test_manhattan.py::test_warm_start_is_kept"),
    Mutant("columns without atoms have no dual", "engine/nesterov.py",
           "U[:, flat] = np.sign(E[:, flat])", "U[:, flat] = 0",
           "test_manhattan.py::test_columns_without_atoms_have_a_dual"),
    Mutant("smoothed loss above the loss", "engine/nesterov.py",
           "size - reach / 2)", "size + reach / 2)",
           "test_manhattan.py::test_theorem_1_bounds_the_smoothed_loss"),
    Mutant("gap of a box without its bound", "engine/nesterov.py",
           "upper * np.minimum(slopes, 0)", "0 * np.minimum(slopes, 0)",
           "test_manhattan.py::test_box_gap_is_a_bound_that_closes"),
    Mutant("half of the graph is lost", "engine/graph.py",
           "return self.weight / 2 * float", "return self.weight / 4 * float",
           "test_manhattan.py::test_graph_of_nearest_neighbours"),
    Mutant("sample weights do not reach the dictionary", "engine/two_factors.py",
           "column_weight=batch.sample_weight,", "column_weight=None,",
           "test_manhattan.py::test_sample_weights_are_repetitions[rri]"),
    Mutant("codes do not take the scale of atoms", "engine/two_factors.py",
           "self.C = self.C * factor", "self.C = self.C + 0",
           "test_manhattan.py::test_objective_is_that_of_the_factors[rri]"),
    Mutant("worse factors of the quick start are taken", "engine/two_factors.py",
           "if not now < before:", "if now < before:",
           "test_manhattan.py::test_quick_start_is_lower_than_sweeps"),
    Mutant("dual of the quick start is forgotten", "kernels/split_residual.py",
           "new = (p - e) * push", "new = (p - e) * 0",
           "test_manhattan.py::test_quick_start_on_a_frozen_dictionary_finds_the_optimal_codes"),
    Mutant("group ball without the positive part", "sets/groups.py",
           "P = np.maximum(V.T if self.of_rows else V, 0)",
           "P = np.array(V.T if self.of_rows else V)",
           "test_sets.py::test_projection_of_a_matrix_is_the_nearest_member"),
    Mutant("groups are cut at the mean level", "sets/groups.py",
           "((sums - removed) / counts).max(axis=1", "((sums - removed) / counts).mean(axis=1",
           "test_penalties.py::test_prox_against_cvxpy"),
    Mutant("upper bound of ℓ1 codes is too cheap", "encoding/least_absolute.py",
           "np.full(below.shape, half)", "np.full(below.shape, 0.1 * half)",
           "test_least_absolute.py::test_codes_below_a_bound_against_highs"),
    Mutant("codes of Algorithm 2 without λ", "encoding/linearised_admm.py",
           "problem.regulariser.prox(C + step * _correlated(U, D), step)",
           "np.maximum(C + step * _correlated(U, D), 0)",
           "test_l1_dictionary.py::test_algorithm_2_reaches_the_linear_program_of_100_documents"),
    Mutant("dual of Algorithm 2 with the old codes", "encoding/linearised_admm.py",
           "U -= towards  # φ(P − C' D − E)", "pass",
           "test_l1_dictionary.py::test_algorithm_2_without_e_is_as_printed"),
    Mutant("weight of zeros forgotten in ADMM", "losses/distances.py",
           "return weigh_zeros(X, np.ones_like(X) if weight is None else weight, self.zero_weight)",
           "return np.ones_like(X) if weight is None else weight",
           "test_l1_dictionary.py::test_algorithm_2_without_e_is_as_printed"),
    Mutant("gradient of OIADMM with a flipped sign", "learning/coded_samples.py",
           "G = -samples.correlated(U) / beta", "G = samples.correlated(U) / beta",
           "test_l1_dictionary.py::test_the_two_forms_of_oiadmm_agree"),
    Mutant("dual of OIADMM at the old dictionary", "learning/coded_samples.py",
           "U -= beta * towards", "pass",
           "test_l1_dictionary.py::test_the_two_forms_of_oiadmm_agree"),
    Mutant("OIADMM without projection", "learning/coded_samples.py",
           "moved = regulariser.prox(D - tau * G, samples.weight * tau / beta)",
           "moved = D - tau * G", "test_l1_dictionary.py::test_the_two_forms_of_oiadmm_agree"),
    Mutant("rows of the dual dropped after a small batch", "learning/oiadmm.py",
           "Delta=np.concatenate([rows, Delta[n:]])", "Delta=rows",
           "test_l1_dictionary.py::test_errata_4_batches_of_any_size"),
    Mutant("dual carried into the next epoch", "learning/oiadmm.py",
           "nothing = np.zeros_like(past.Delta)", "nothing = past.Delta",
           "test_l1_dictionary.py::test_the_two_forms_of_oiadmm_agree"),
    Mutant("horizon that never doubles", "learning/oiadmm.py", "2 * past.horizon if used_up",
           "past.horizon if used_up", "test_l1_dictionary.py::test_the_two_forms_of_oiadmm_agree"),
    Mutant("τ beyond what the theorem allows", "learning/oiadmm.py",
           "tau = (0.5 if self.tau is None", "tau = (2.5 if self.tau is None",
           "test_l1_dictionary.py::test_the_two_forms_of_oiadmm_agree"),
    Mutant("words of one atom only", "encoding/linearised_admm.py",
           "np.flatnonzero(problem.D.any(axis=0))", "np.flatnonzero(problem.D[0])",
           "test_l1_dictionary.py::test_algorithm_2_without_e_is_as_printed"),
    Mutant("a group ball that is never full", "sets/groups.py",
           "return float(max(norms)) / self.radius", "return float(min(norms)) / self.radius",
           "test_manhattan.py::test_sets_that_only_bound_lengths_cost_nothing"),
    Mutant("sample weights of OIADMM forgotten", "learning/coded_samples.py",
           "self._codes.T @ (U * self.sample_weight[:, None])", "self._codes.T @ U",
           "test_l1_dictionary.py::test_weights_count_as_copies_and_gaps_for_nothing"),
    Mutant("Algorithm 3 returns its last dictionary", "learning/l1_admm.py",
           "if now < least:", "if True:", "test_l1_dictionary.py::test_algorithm_3_keeps_its_best"),
    Mutant("an eighth instead of the median", "learning/medians.py",
           "reached = np.cumsum(weights[falling], axis=0) > half",
           "reached = np.cumsum(weights[falling], axis=0) > half / 4",
           "test_l1_dictionary.py::test_weighted_median_has_the_least_distance"),
    Mutant("separable surrogate without the sum of codes", "learning/diagonal.py",
           "C * np.abs(fit.C).sum(axis=1, keepdims=True)", "C * fit.C",
           "test_l1_dictionary.py::test_the_separable_surrogate_lies_above_the_smoothed_loss"),
    Mutant("separable surrogate ignores the ball", "learning/diagonal.py",
           "low = _threshold(B, inverse, region.radius)", "low = low + 0",
           "test_l1_dictionary.py::test_the_separable_surrogate_lies_above_the_smoothed_loss"),
    Mutant("compiled ℓ1 ball without its threshold", "kernels/block_descent.py",
           "value = max(atom[f] - theta, zero)", "value = max(atom[f], zero)",
           "test_l1_dictionary.py::test_compiled_sums_are_those_of_the_projection"),
    Mutant("curvature of residuals as a quotient", "losses/smoothed.py",
           "y.dtype.type(self.width))\n        return", "y.dtype.type(1e-300))\n        return",
           "test_l1_dictionary.py::test_exact_residuals_have_the_curvature_of_their_neighbours"),
    Mutant("printed bound of Theorem B.5", "metrics/l1_dictionary.py",
           "return phi * best_norm * float(np.sqrt(n_steps / tau))",
           "return phi * best_norm * float(np.sqrt(n_steps / tau)) / 2",
           "test_l1_dictionary.py::test_the_bound_is_what_the_proof_adds_up_to"),
    Mutant("score without what codes cost", "estimators/base.py",
           "-self._scores(X, entry_weight, CodedBlock.objective)",
           "-self._scores(X, entry_weight, CodedBlock.loss)",
           "test_l1_dictionary.py::test_score_is_the_objective_and_sre_its_mean"),
    Mutant("new words do not make a document longer", "tasks/directions.py",
           "return _cosines(self._known(unit_rows(X)), self.sums, self.lengths)",
           "return _cosines(unit_rows(self._known(X)), self.sums, self.lengths)",
           "test_novelty.py::test_words_that_nobody_had_make_a_document_longer"),
    Mutant("directions that are alike are kept apart", "tasks/directions.py",
           "i, j = np.unravel_index(loss.argmin(), loss.shape)",
           "i, j = np.unravel_index(np.where(np.isinf(loss), -1, loss).argmax(), loss.shape)",
           "test_novelty.py::test_joining_loses_least"),
    Mutant("nothing founds a direction", "tasks/directions.py",
           "founders = _drawn(surprise, _FOUNDERS * known.shape[0], rng)",
           "founders = _drawn(surprise, 0.0, rng)",
           "test_novelty.py::test_a_new_group_gets_a_direction_and_the_memory_stays_of_one_size"),
    Mutant("unknown words weigh nothing", "tasks/growing_words.py",
           "idf = np.full(counts.shape[1], np.log(n + 1))", "idf = np.zeros(counts.shape[1])",
           "test_novelty.py::test_weights_follow_the_stream"),
    Mutant("the commonest words leave", "tasks/growing_words.py",
           "np.sort(order[len(order) - room :])", "np.sort(order[:room])",
           "test_novelty.py::test_rare_words_leave_and_everything_follows"),
    Mutant("what is novel becomes usual", "tasks/alarm.py",
           "if len(usual) > _BURST * expected:", "if False:",
           "test_novelty.py::test_what_is_novel_does_not_become_usual"),
    Mutant("p-values without the document itself", "tasks/alarm.py",
           "(as_high + 1) / (len(past) + 1)", "as_high / (len(past) + 1)",
           "test_novelty.py::test_rules_of_alarm"),
    Mutant("weeks begin on Thursday", "tasks/document_steps.py", "+ 3) % 7", ") % 7",
           "test_novelty.py::test_steps_by_date_and_by_count"),
    Mutant("statistics keep the wrong features", "learning/statistics.py",
           "values = np.take(values, columns, axis=axis)",
           "values = np.take(values, np.arange(len(columns)), axis=axis)",
           "test_novelty.py::test_features_that_stay_keep_what_was_learned_of_them"),
    Mutant("oracle of the spectral ball with a flipped sign", "sets/spectral.py",
           "return self.radius * polar(-G, near)", "return self.radius * polar(G, near)",
           "test_frank_wolfe.py::test_lemma_3_has_minus_the_nuclear_norm"),
    Mutant("NoncvxSFW without its factor p", "learning/orthogonal.py",
           "G = -self.p * power_gradient", "G = -power_gradient",
           "test_orthogonal.py::test_erratum_2_the_gradient_has_its_factor"),
    Mutant("ties of polar factors left to LAPACK", "linalg/polar.py",
           "if null.any():", "if False:",
           "test_frank_wolfe.py::test_a_singular_gradient_has_a_defined_answer"),
    Mutant("Newton–Schulz stops a step early", "linalg/polar.py",
           "if far < 1e-8:", "if far < 1e-1:",
           "test_frank_wolfe.py::test_polar_without_svd_is_polar"),
    Mutant("Frank–Wolfe gap of the point after the step", "learning/frank_wolfe.py",
           "gap = float(np.sum(G * (X - S)))", "gap = float(np.sum(G * ((1 - gamma) * (X - S))))",
           "test_frank_wolfe.py::test_the_gap_bounds_what_is_missing"),
    Mutant("refinement keeps all codes", "learning/orthogonal_refined.py",
           "np.where(kept, C, 0).T @ weighted", "C.T @ weighted",
           "test_orthogonal.py::test_erratum_4_refinement_is_exact_where_the_published_error_falls_slowly"),
    Mutant("empty samples count as exact zeros", "learning/orthogonal_refined.py",
           "counted = np.where(squares.sum(axis=1) > _EMPTY * mean, weight, 0)", "counted = weight",
           "test_orthogonal.py::test_empty_samples_do_not_make_a_dictionary_look_exact"),
    Mutant("tracking forgets the half-life", "learning/orthogonal_tracked.py",
           "f = progress.keep", "f = 1.0",
           "test_orthogonal.py::test_a_half_life_follows_a_change"),
    Mutant("whitened codes not whitened", "engine/orthogonal.py",
           "return Y, (Y if whitener is None else Y @ whitener) @ D.T", "return Y, Y @ D.T",
           "test_orthogonal.py::test_whitening_finds_complete_dictionaries_that_are_not_orthogonal"),
    Mutant("novel documents by their largest codes", "tasks/fixed_terms.py",
           "known = self._codes(Y)[:, self._strongest()]",
           "known = -np.sort(-np.abs(self._codes(Y)), axis=1)[:, : len(self._strongest())]",
           "test_novelty.py::test_an_orthogonal_dictionary_sees_the_terms_that_it_began_with"),
    Mutant("chances of the codec never adapt", "kernels/adaptive_bits.py",
           "(goal - chances[0, context]) // (chances[1, context] + 2)", "0 * goal",
           "test_codec.py::test_adaptive_chances_beat_fixed_laplace_on_other_laws"),
    Mutant("tenths through a rounded spacing", "kernels/lattice_codec.py",
           "+ 0.5) * numerator / denominator", "+ 0.5) * (numerator / denominator)",
           "test_codec.py::test_tenths_come_back_as_the_same_doubles"),
    Mutant("codec keeps all codes of a row", "kernels/transform_codec.py",
           "_is_among(c, k, n_nonzero)", "True",
           "test_codec.py::test_at_most_n_nonzero_numbers_in_a_row"),
    Mutant("Givens angles without the sign", "linalg/givens.py", "-1 if Q[-1, -1] < 0 else 1", "1",
           "test_codec.py::test_givens_angles"),
    Mutant("error bound of the codec exceeded", "tasks/compression/search.py",
           "if batch.error <= allowed:\n            high",
           "if batch.error <= 1.2 * allowed:\n            high",
           "test_codec.py::test_error_bound_holds_after_every_packet"),
    Mutant("the cloud trusts a state unseen", "tasks/compression/cloud.py",
           "state.digest(n_rows, packet.sequence) != packet.digest", "False",
           "test_codec.py::test_a_packet_of_another_stream_is_refused"),
    Mutant("dictionaries sent before they pay", "tasks/compression/chooser.py",
           "+ left * saved - trial.cost", "+ left * saved",
           "test_codec.py::test_dictionaries_pay_for_themselves"),
]
# fmt: on


def pytest_sessionstart() -> None:
    """Make sure that the copy is what tests import."""
    found = Path(str(importlib.import_module("thresher").__file__))
    if not found.is_relative_to(os.environ["MUTANT_SOURCE"]):
        raise RuntimeError(f"The tests would import {found}, which is not the mutant.")


def pytest_exception_interact(node: Any, call: Any) -> None:
    """Write down the first failure: the test, when it failed, and why."""
    note = Path(os.environ["MUTANT_NOTE"])
    if not note.exists():
        note.write_text(json.dumps([node.nodeid, call.when, call.excinfo.typename]))


def run_tests(folder: Path, tests: list[str], cache: Path) -> tuple[int, list[str], str]:
    """Run tests in a folder with its own ``src`` and ``tests``: code, first failure, output."""
    note = folder / "note.json"
    note.unlink(missing_ok=True)
    source = folder / "src"
    environment = os.environ | {
        "PYTHONPATH": f"{source}{os.pathsep}{folder / 'tests'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
        "MUTANT_SOURCE": str(source),
        "MUTANT_NOTE": str(note),
    }
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "mutants"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
    try:
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return -1, [], f"no end after {LIMIT} s"
    failure = json.loads(note.read_text()) if note.exists() else []
    return run.returncode, failure, run.stdout + run.stderr


def fresh_source(folder: Path, original: Path) -> Path:
    """The library as it is; times of files are kept, for numba's cache goes by them."""
    package = folder / "src" / "thresher"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(original, package)
    return package


def judge(mutant: Mutant, folder: Path, original: Path, shared_cache: Path) -> Result:
    """Apply a mutant to a fresh copy and see whether its tests notice."""
    started = time.perf_counter()
    path = fresh_source(folder, original) / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        return Result(mutant, "stale", f"{text.count(mutant.old)} times there", 0.0)
    path.write_text(text.replace(mutant.old, mutant.new))
    with tempfile.TemporaryDirectory() as own_cache:
        # Compiled code knows its own file alone, so a changed kernel needs a cache of its own.
        cache = Path(own_cache) if mutant.file.startswith("kernels/") else shared_cache
        code, failure, output = run_tests(folder, [mutant.test], cache)
    seconds = time.perf_counter() - started
    if code == 0:
        return Result(mutant, "SURVIVED", "", seconds)
    if code != 1 or not failure or failure[1] != "call" or failure[2] in BROKEN:
        return Result(mutant, "broken", " ".join(failure) or output.strip()[-300:], seconds)
    return Result(mutant, "killed", failure[0].removeprefix("tests/"), seconds)


def results(mutants: list[Mutant], jobs: int) -> Iterator[Result]:
    """Judge mutants, in order, on a snapshot of library and tests."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        ignore = shutil.ignore_patterns("__pycache__")
        original = shutil.copytree(ROOT / "src" / "thresher", base / "original", ignore=ignore)
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            folder = base / f"job{number}"
            shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignore)
            shutil.copy2(ROOT / "pyproject.toml", folder)
            folders.put(folder)
        fresh_source(folder, original)
        every = sorted({mutant.test for mutant in mutants})
        code, failure, output = run_tests(folder, every, base / "cache")
        if code != 0:
            raise SystemExit(f"Without any mutant tests fail: {failure}\n{output[-2000:]}")

        def work(mutant: Mutant) -> Result:
            folder = folders.get()
            try:
                return judge(mutant, folder, original, base / "cache")
            finally:
                folders.put(folder)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(work, mutants)


def as_markdown(found: list[Result], before: str) -> str:
    """The list, in which mutants that did not run keep the line they had."""
    kept = {line.split(" | ")[1]: line for line in before.splitlines() if line.count(" | ") == 2}
    for result in found:
        test = f"`{result.test}`" if result.outcome == "killed" else f"**{result.outcome}**"
        kept[result.mutant.name] = f"| `{result.mutant.file}` | {result.mutant.name} | {test} |"
    lines = ["# Mutants", "", "Seeded mistakes, and the test that notices each of them first;"]
    lines += ["`python tests/mutants.py --write` makes this list.", ""]
    lines += ["| file | what was changed | killed by |", "|---|---|---|"]
    lines += [kept[mutant.name] for mutant in MUTANTS if mutant.name in kept]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", default="", help="part of a name or file")
    parser.add_argument("--new", action="store_true", help="only those not in docs/mutants.md")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--write", action="store_true", help="write docs/mutants.md")
    options = parser.parse_args()
    listed = ROOT / "docs" / "mutants.md"
    before = listed.read_text()
    mutants = [mutant for mutant in MUTANTS if options.only in f"{mutant.name} {mutant.file}"]
    if options.new:
        mutants = [mutant for mutant in mutants if f"| {mutant.name} |" not in before]
    if not mutants:
        print("No mutant has that name, or none is new.")
        return 1
    found = []
    for result in results(mutants, options.jobs):
        found.append(result)
        name, file = result.mutant.name, result.mutant.file
        line = f"{result.outcome:8}  {name:46}  {file:28}  {result.seconds:5.1f} s  {result.test}"
        print(line, flush=True)
        if options.write:
            listed.write_text(as_markdown(found, before))
    killed = sum(result.outcome == "killed" for result in found)
    print(f"{killed} of {len(found)} killed, {sum(r.seconds for r in found):.0f} s.")
    return 0 if found and killed == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
