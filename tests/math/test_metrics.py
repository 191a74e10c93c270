"""Measures agree with their formulas and have the invariances that they promise."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from thresher.metrics import (
    clustering_accuracy,
    factor_match_score,
    frank_wolfe_gap,
    hoyer_sparseness,
    matched_cosines,
    mean_regret,
    probabilistic_rand_index,
    psnr,
    purity,
    relative_error,
    spectral_angles,
    squared_relative_error,
    support_scores,
    topic_coherence,
)

vectors = arrays(np.float64, st.integers(2, 12), elements=st.floats(-1e3, 1e3))


class TestReconstruction:
    def test_squared_relative_error_is_a_share_of_energy(self):
        clean = np.array([[3.0, 4.0]])
        assert squared_relative_error(clean, [[3.0, 3.0]]) == pytest.approx(1 / 25)

    def test_psnr_by_hand(self):
        clean = np.zeros((2, 5))
        assert psnr(clean, clean + 0.1) == pytest.approx(20.0)
        one_wrong = clean.copy()
        one_wrong[0, 0] = 1.0
        assert psnr(clean, one_wrong) == pytest.approx(10.0)

    def test_psnr_of_equal_data_is_infinite(self):
        assert psnr([[0.5]], [[0.5]]) == np.inf

    def test_psnr_depends_on_the_error_relative_to_the_peak_only(self):
        rng = np.random.default_rng(0)
        clean, error = rng.random((2, 6, 7))
        reference = psnr(clean, clean + error)
        assert psnr(clean + 3, clean + 3 - error) == pytest.approx(reference)
        assert psnr(255 * clean, 255 * (clean + error), peak=255) == pytest.approx(reference)
        assert psnr(clean.T, (clean + error).T) == pytest.approx(reference)

    def test_psnr_of_bytes_does_not_wrap_around(self):
        assert psnr(np.uint8([1]), np.uint8([2]), peak=1) == pytest.approx(0.0)

    def test_psnr_and_regret_differ_by_the_constant_of_erratum_4(self):
        rng = np.random.default_rng(1)
        clean, estimate = rng.random((2, 30, 8))
        gap = psnr(clean, estimate) + 10 * np.log10(mean_regret(clean, estimate))
        assert gap == pytest.approx(10 * np.log10(8 / 2))

    def test_mean_regret_by_hand(self):
        assert mean_regret([[1, 0], [0, 0]], [[0, 0], [0, 2]]) == pytest.approx((1 + 4) / 2 / 2)

    def test_mean_regret_is_the_mean_over_the_stream(self):
        clean, estimate = np.random.default_rng(2).random((2, 10, 4))
        halves = [mean_regret(clean[s], estimate[s]) for s in (slice(5), slice(5, 10))]
        assert mean_regret(clean, estimate) == pytest.approx(np.mean(halves))

    def test_relative_error(self):
        assert relative_error([[3.0, 4.0]], [[3.0, 4.5]]) == pytest.approx(0.1)
        assert relative_error([[3.0, 4.0]], [[0.0, 0.0]]) == 1
        assert relative_error([[300.0, 400.0]], [[300.0, 450.0]]) == pytest.approx(0.1)

    def test_relative_error_of_zero_data(self):
        assert relative_error([[0.0]], [[0.0]]) == 0
        assert relative_error([[0.0]], [[1.0]]) == np.inf


class TestSupportScores:
    def test_by_hand(self):
        truth = np.array([True, True, True, False, False, False])
        scores = support_scores(truth, [-0.5, 0.2, 0.0, 0.3, 0.0, 0.0])
        assert scores.precision == pytest.approx(2 / 3)
        assert scores.recall == pytest.approx(2 / 3)
        assert scores.f1 == pytest.approx(2 / 3)

    def test_threshold_is_strict_and_on_magnitudes(self):
        truth = np.array([True, False, False])
        assert support_scores(truth, [-0.5, 0.2, -0.2], threshold=0.2) == (1, 1, 1)

    def test_smallest_integer_has_a_magnitude(self):
        assert support_scores(np.array([True]), np.int8([-128])).f1 == 1

    @pytest.mark.parametrize(
        ("truth", "found", "expected"),
        [
            ([False, False], [0, 0], (1, 1, 1)),
            ([True, False], [0, 0], (0, 0, 0)),
            ([False, False], [1, 0], (0, 0, 0)),
        ],
    )
    def test_empty_supports(self, truth, found, expected):
        assert support_scores(np.array(truth), found) == expected

    @given(arrays(bool, 20), arrays(bool, 20))
    def test_swapping_swaps_precision_and_recall_and_f1_is_harmonic(self, truth, found):
        scores, swapped = support_scores(truth, found), support_scores(found, truth)
        assert (scores.precision, scores.recall) == (swapped.recall, swapped.precision)
        if scores.precision + scores.recall > 0:
            harmonic = 2 / (1 / scores.precision + 1 / scores.recall) if scores.precision else 0
            assert scores.f1 == pytest.approx(harmonic)


class TestFactorMatchScore:
    @pytest.fixture
    def atoms(self):
        return np.abs(np.random.default_rng(0).normal(size=(6, 30)))

    def test_identity(self, atoms):
        assert factor_match_score(atoms, atoms) == pytest.approx(1)

    @given(st.permutations(range(6)), arrays(float, 6, elements=st.floats(1e-200, 1e200)))
    def test_order_scale_and_sign_do_not_matter(self, order, scales):
        rng = np.random.default_rng(1)
        true, estimated = rng.normal(size=(2, 6, 30))
        changed = -(scales[:, np.newaxis] * estimated)[order]
        expected = factor_match_score(true, estimated)
        assert factor_match_score(true, changed) == pytest.approx(expected)
        assert factor_match_score(changed, true) == pytest.approx(expected)

    def test_falls_with_the_perturbation(self, atoms):
        direction = np.random.default_rng(2).normal(size=atoms.shape)
        sizes = (0, 0.1, 0.3, 1, 3)
        scores = [factor_match_score(atoms, atoms + size * direction) for size in sizes]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] - scores[-1] > 0.2

    def test_matching_is_optimal_not_greedy(self):
        # Greedy would pair the closest two (cosine 1) and leave a pair of cosine 0.
        true = np.array([[1.0, 0.0], [0.6, 0.8]])
        estimated = np.array([[1.0, 0.0], [0.8, -0.6]])
        assert factor_match_score(true, estimated) == pytest.approx((0.8 + 0.6) / 2)

    def test_different_numbers_of_atoms(self, atoms):
        assert factor_match_score(atoms[:4], atoms) == pytest.approx(1)
        assert factor_match_score(np.eye(4), np.eye(4)[:3]) == pytest.approx(3 / 4)

    def test_zero_atoms_score_zero(self):
        estimated = np.eye(4)
        estimated[0] = 0
        assert factor_match_score(np.eye(4), estimated) == pytest.approx(3 / 4)
        assert factor_match_score(np.zeros((2, 3)), np.eye(3)) == 0


class TestHoyerSparseness:
    @given(st.integers(2, 50), st.data())
    def test_one_for_one_hot_and_zero_for_constant_magnitude(self, length, data):
        place = data.draw(st.integers(0, length - 1))
        value = data.draw(st.floats(1e-300, 1e300))
        assert hoyer_sparseness(value * np.eye(length)[place]) == pytest.approx(1)
        signs = data.draw(arrays(float, length, elements=st.sampled_from([-1.0, 1.0])))
        assert hoyer_sparseness(value * signs) == pytest.approx(0, abs=1e-12)

    def test_by_hand(self):
        # k equal entries of n: (sqrt n - sqrt k) / (sqrt n - 1).
        assert hoyer_sparseness([1, 1, 1, 1] + [0] * 12) == pytest.approx((4 - 2) / (4 - 1))

    @given(vectors, st.floats(1e-6, 1e6))
    def test_scale_and_order_do_not_matter_and_it_stays_in_range(self, vector, scale):
        vector = np.where(np.abs(vector) < 1e-6, 0, vector)
        sparseness = hoyer_sparseness(vector)
        assert 0 <= sparseness <= 1
        assert hoyer_sparseness(-scale * vector[::-1]) == pytest.approx(sparseness, abs=1e-9)

    @given(arrays(np.float64, array_shapes(min_dims=2, max_dims=3), elements=st.floats(0, 1)))
    def test_axes(self, values):
        for axis in range(values.ndim):
            expected = np.apply_along_axis(hoyer_sparseness, axis, values)
            np.testing.assert_allclose(hoyer_sparseness(values, axis=axis), expected, atol=1e-12)

    def test_undefined_cases_are_zero(self):
        np.testing.assert_array_equal(hoyer_sparseness(np.zeros((2, 3))), [0, 0])
        np.testing.assert_array_equal(hoyer_sparseness([[5.0], [0.0]]), [0, 0])


class TestTopicCoherence:
    @given(arrays(np.int64, (12, 5), elements=st.integers(0, 3)))
    def test_is_the_mean_of_the_formula_over_pairs_and_in_range(self, counts):
        weights = np.array([[5.0, 4.0, 3.0, 2.0, 1.0]])
        found = topic_coherence(weights, sparse.csr_array(counts), n_words=3)
        has = counts > 0
        pairs = []
        for i, j in ((0, 1), (0, 2), (1, 2)):
            p_i, p_j, p_ij = has[:, i].mean(), has[:, j].mean(), (has[:, i] & has[:, j]).mean()
            if p_ij == 0:
                pairs.append(-1.0)
            elif p_ij == 1:
                pairs.append(0.0)
            else:
                pairs.append(np.log(p_ij / (p_i * p_j)) / -np.log(p_ij))
        assert found.per_topic == pytest.approx([np.mean(pairs)])
        assert -1 - 1e-12 <= found.mean <= 1 + 1e-12

    def test_ten_words_count_unless_asked_otherwise(self):
        rng = np.random.default_rng(0)
        documents, weights = rng.integers(0, 2, (40, 15)), np.arange(15.0, 0, -1)[None]
        default = topic_coherence(weights, documents).mean
        asked = [topic_coherence(weights, documents, n_words=n).mean for n in (9, 10, 11)]
        assert len(set(asked)) == 3
        assert default == asked[1]

    def test_together_only_is_one_never_is_minus_one_independent_is_zero(self):
        together = [[1, 1], [1, 1], [0, 0], [0, 0]]
        never = [[1, 0], [0, 1], [1, 0], [0, 1]]
        independent = [[1, 1], [1, 0], [0, 1], [0, 0]]
        unseen = [[1, 0], [1, 0], [0, 0], [0, 0]]
        everywhere = [[1, 1], [1, 1], [1, 1], [1, 1]]
        cases = [(together, 1), (never, -1), (independent, 0), (unseen, -1), (everywhere, 0)]
        for documents, expected in cases:
            assert topic_coherence(np.eye(2)[:1] + 1, documents).mean == pytest.approx(expected)

    def test_words_weights_dense_sparse_counts_and_flags_agree(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(0.7, (40, 8))
        weights = rng.random((3, 8))
        vocabulary = [f"w{column}" for column in range(8)]
        words = [[vocabulary[c] for c in np.argsort(-row)[:4]] for row in weights]
        expected = topic_coherence(weights, counts, 4)
        for topics, X in (
            (weights, sparse.csr_array(counts)),
            (7 * weights, sparse.csc_matrix(counts > 0)),
            (weights.tolist(), 0.1 * counts),
            (words, counts),
            ((line for line in words), counts),
            (np.array(words), counts),
        ):
            found = topic_coherence(topics, X, 4, vocabulary=vocabulary)
            np.testing.assert_array_equal(found.per_topic, expected.per_topic)

    def test_planted_topics_are_more_coherent_than_mixed_ones(self):
        rng = np.random.default_rng(1)
        topic_of_word = np.repeat(np.arange(4), 10)
        topic_of_document = rng.integers(4, size=300)
        rate = np.where(topic_of_document[:, np.newaxis] == topic_of_word, 0.5, 0.05)
        counts = sparse.csr_array(rng.poisson(rate))
        planted = (np.arange(4)[:, np.newaxis] == topic_of_word).astype(float)
        right = topic_coherence(planted, counts).per_topic
        mixed = topic_coherence(planted[:, rng.permutation(40)], counts).per_topic
        assert right.min() > mixed.max() + 0.1

    def test_stored_zeros_are_no_words(self):
        counts = sparse.csr_array(([1, 0, 1], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
        assert topic_coherence([[1.0, 1.0]], counts).mean == -1

    def test_a_wide_vocabulary_is_not_made_dense(self):
        # Dense, these would take 80 GB.
        counts = sparse.random_array((10_000, 1_000_000), density=1e-5, rng=0, format="csr")
        words = [["3", "5"], ["8", "9"]]
        vocabulary = [str(column) for column in range(1_000_000)]
        assert topic_coherence(words, counts, vocabulary=vocabulary).per_topic.shape == (2,)

    def test_a_topic_without_a_pair_is_left_out_of_the_mean(self):
        documents = [[1, 1, 0], [0, 0, 1]]
        found = topic_coherence([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]], documents)
        assert np.isnan(found.per_topic[1])
        assert found.mean == found.per_topic[0] == pytest.approx(1)
        assert np.isnan(topic_coherence([[0.0, 0.0, 0.0]], documents).mean)


class TestPurity:
    def test_by_hand(self):
        assert purity(["a", "a", "b", "b", "c"], [0, 0, 0, 1, 1]) == pytest.approx(3 / 5)

    @given(arrays(np.int64, 30, elements=st.integers(0, 4)), st.permutations(range(5)))
    def test_names_do_not_matter_and_splitting_never_hurts(self, clusters, order):
        labels = np.random.default_rng(0).integers(3, size=30)
        value = purity(labels, clusters)
        assert purity(labels, np.array(order)[clusters]) == pytest.approx(value)
        assert purity(labels, 10 * clusters + np.arange(30) % 2) >= value
        assert np.bincount(labels).max() / 30 <= value <= 1
        assert purity(labels, np.arange(30)) == 1 == purity(labels, labels)

    @given(st.integers(0, 10_000))
    def test_accuracy_is_the_best_of_all_matchings(self, seed):
        rng = np.random.default_rng(seed)
        labels, clusters = rng.integers(0, 3, 20), rng.integers(0, 4, 20)
        best = max(
            np.mean(np.array(match)[clusters] == labels) for match in permutations([0, 1, 2, -1])
        )
        assert clustering_accuracy(labels, clusters) == pytest.approx(best)
        assert clustering_accuracy(labels, clusters) <= purity(labels, clusters)
        assert clustering_accuracy(labels, 7 - labels) == 1

    @given(st.integers(0, 10_000))
    def test_probabilistic_rand_index_counts_pairs(self, seed):
        rng = np.random.default_rng(seed)
        found, truths = rng.integers(0, 3, (3, 4)), rng.integers(0, 4, (5, 3, 4))
        flat = truths.reshape(5, -1)
        value = []
        for i, j in combinations(range(12), 2):
            together = np.mean(flat[:, i] == flat[:, j])
            value.append(together if found.flat[i] == found.flat[j] else 1 - together)
        assert probabilistic_rand_index(found, truths) == pytest.approx(np.mean(value))
        assert probabilistic_rand_index(found, [found, found]) == 1


def test_spectral_angles_are_between_true_spectra_and_their_partners():
    true, found = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 3**0.5], [1.0, 1.0], [3.0, 0.0]]
    np.testing.assert_allclose(spectral_angles(true, found), [0, np.pi / 6], atol=1e-7)


def test_matched_cosines_are_the_terms_of_the_match_score():
    rng = np.random.default_rng(0)
    one, other = rng.random((4, 6)), rng.random((3, 6))
    found = matched_cosines(one, other)
    assert np.count_nonzero(found == 0) == 1
    assert factor_match_score(one, other) == pytest.approx(found.mean())


def test_the_default_exponent_of_the_gap_is_three():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(20, 4)), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert frank_wolfe_gap(X, D) == frank_wolfe_gap(X, D, 3)
    assert frank_wolfe_gap(X, D) != pytest.approx(frank_wolfe_gap(X, D, 4))


ONE = np.ones((1, 1))
COMPARED = [
    ("shape", np.ones((2, 3)), np.ones((3, 2))),
    ("empty", np.ones((0, 3)), np.ones((0, 3))),
    ("finite", ONE, np.full((1, 1), np.nan)),
    ("finite", ONE, np.full((1, 1), np.inf)),
    ("real", ONE, np.array([["a"]])),
]
REFUSED = [
    *((word, measure, pair, {}) for word, *pair in COMPARED
      for measure in (psnr, relative_error, mean_regret)),
    ("peak", psnr, ([1.0], [1.0]), {"peak": 0}),
    ("row", mean_regret, ([1.0], [1.0]), {}),
    ("boolean", support_scores, ([0.5], [1.0]), {}),
    ("shape", support_scores, ([True], [1.0, 2.0]), {}),
    ("NaN", support_scores, ([True], [np.nan]), {}),
    ("real", support_scores, ([True], ["a"]), {}),
    ("real", support_scores, ([True], [1j]), {}),
    ("threshold", support_scores, ([True], [1.0], -1), {}),
    ("features", factor_match_score, (np.eye(3), np.eye(4)), {}),
    ("row", factor_match_score, (np.ones(3), np.eye(3)), {}),
    ("row", factor_match_score, (np.eye(3), np.ones((0, 3))), {}),
    ("finite", factor_match_score, (np.eye(1), [[np.inf]]), {}),
    ("real", factor_match_score, (np.eye(1), [["a"]]), {}),
    ("exist", hoyer_sparseness, ([1.0], 1), {}),
    ("entries", hoyer_sparseness, (np.ones((3, 0)), -1), {}),
    ("finite", hoyer_sparseness, ([np.nan, 1], -1), {}),
    ("real", hoyer_sparseness, (["a"], -1), {}),
    ("at least", topic_coherence, (np.eye(3), np.eye(3)), {"n_words": 1}),
    ("vocabulary", topic_coherence, (np.eye(3), np.eye(4)), {}),
    ("topic", topic_coherence, (np.ones(3), np.eye(3)), {}),
    ("document", topic_coherence, (np.eye(3), np.ones(3)), {}),
    ("counts", topic_coherence, (np.eye(2), [["a", "b"]]), {}),
    ("finite", topic_coherence, ([[np.nan, 1.0]], np.eye(2)), {}),
    ("vocabulary", topic_coherence, ([["a", "b"]], np.eye(2)), {}),
    ("words", topic_coherence, ([["a", "b"]], np.eye(2)), {"vocabulary": "abc"}),
    ("'c'", topic_coherence, ([["a", "c"]], np.eye(2)), {"vocabulary": "ab"}),
    ("entry", purity, ([1], [1, 2]), {}),
    ("entry", purity, ([], []), {}),
    ("entry", purity, ([[1]], [[1]]), {}),
    ("shape", probabilistic_rand_index, (np.zeros((3, 4)), [np.zeros((4, 3))]), {}),
    ("at least", probabilistic_rand_index, (np.zeros((3, 4)), []), {}),
    ("bands", spectral_angles, (np.eye(2), [[1.0, 0.0, 0.0]] * 2), {}),
    ("spectra", spectral_angles, (np.eye(2), [[1.0, 0.0]]), {}),
]  # fmt: skip


@pytest.mark.parametrize(("keyword", "measure", "arguments", "options"), REFUSED)
def test_wrong_arguments_are_refused(keyword, measure, arguments, options):
    with pytest.raises(ValueError, match=keyword):
        measure(*arguments, **options)
