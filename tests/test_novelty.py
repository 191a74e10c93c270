"""Novel documents: what is remembered, what is marked, and what is said of it."""

import copy
import functools
import gzip
import json
import operator
import threading
import tracemalloc
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize
from scipy.stats import binom, false_discovery_control, norm
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score

from thresher import NovelDocumentDetector, OnlineNMF, OnlineOrthogonalDictionary, load, save
from thresher.solvers import batch_impl, online
from thresher.tasks.novelty.alarm import Alarm, share_as_high
from thresher.tasks.novelty.directions import Directions, _joined, _spread, unit_rows
from thresher.tasks.novelty.emerging import emerging_topics, topics_beside
from thresher.tasks.novelty.usual import Judged, PastScores
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.records import Record
from thresher.tasks.text.steps import document_steps

TOPICS = {
    name: words.split()
    for name, words in {
        "weather": "rain wind snow storm cloud frost thunder sunshine hail fog",
        "music": "guitar piano concert singer melody drum opera violin chorus song",
        "politics": "vote minister parliament budget election senate law policy tax party",
        "sport": "goal match team player league coach referee stadium cup score",
    }.items()
}
MODELS = [None, OnlineNMF(4, divergence="kl", verbose=0), OnlineOrthogonalDictionary(verbose=0)]
COMMON = ["people", "today", "time", "year", "place", "world", "week", "city", "day", "house"]


def texts(topics, n, seed=0):
    """Documents of eight words of a topic and four that all topics share; and their topics."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(topics, n)
    words = [" ".join([*rng.choice(TOPICS[label], 8), *rng.choice(COMMON, 4)]) for label in labels]
    return words, labels


# ------------------------------------------------------------------------- directions


def planted_rows(n=300, seed=0, K=4, F=40):
    rng = np.random.default_rng(seed)
    centres = rng.random((K, F)) * (rng.random((K, F)) < 0.3) + 1e-3
    which = rng.integers(K, size=n)
    noise = rng.random((n, F)) * (rng.random((n, F)) < 0.1)
    return sparse.csr_array(centres[which] + 0.2 * noise), which


def resultant(X, which):
    """What directions explain: Σ_k ‖Σ of the unit rows of group k‖."""
    rows = unit_rows(X).toarray().astype(np.float64)
    return sum(np.linalg.norm(rows[which == k].sum(axis=0)) for k in np.unique(which))


def test_directions_find_planted_groups_and_sum_their_unit_vectors():
    X, which = planted_rows()
    directions = Directions.none(4, 40, seed=0).learned(X)
    nearest = directions.cosines(X).argmax(axis=1)
    assert all(len(np.unique(nearest[which == k])) == 1 for k in range(4))
    assert len(np.unique(nearest)) == 4
    rows = unit_rows(X).toarray()
    for k in range(4):
        group = rows[nearest == k].sum(axis=0)
        np.testing.assert_allclose(directions.sums[:, k], group, rtol=2e-3, atol=2e-3)
    assert directions.lengths.sum() == pytest.approx(resultant(X, which), rel=1e-3)


def test_a_new_group_gets_a_direction_and_the_memory_stays_of_one_size():
    """All directions are taken; two old ones must be joined for it."""
    old, _ = planted_rows(400, seed=1, K=4)
    new, _ = planted_rows(300, seed=7, K=1)
    directions = Directions.none(4, 40, seed=0).learned(old)
    assert len(np.unique(directions.cosines(old).argmax(axis=1))) == 4
    before = directions.cosines(new).max(axis=1).mean()
    for start in range(0, 300, 100):
        directions = directions.learned(new[start : start + 100])
    assert directions.sums.shape == (40, 4)
    after = directions.cosines(new).max(axis=1).mean()
    assert 1 - after < 0.5 * (1 - before)
    theirs = set(directions.cosines(new).argmax(axis=1))
    assert theirs.isdisjoint(directions.cosines(old).argmax(axis=1))
    assert directions.cosines(old).max(axis=1).mean() > 0.7  # nothing is forgotten altogether


def test_joining_loses_least():
    """Against all pairs: the pair joined is the one whose sum is longest beside its parts."""
    rng = np.random.default_rng(0)
    sums = rng.random((6, 5)).astype(np.float32)
    losses = {}
    for i in range(5):
        for j in range(i):
            both = np.linalg.norm(sums[:, i] + sums[:, j])
            losses[i, j] = np.linalg.norm(sums[:, i]) + np.linalg.norm(sums[:, j]) - both
    i, j = min(losses, key=losses.get)
    joined = _joined(sums, 4)
    expected = np.linalg.norm(sums, axis=0).sum() - losses[i, j]
    assert np.linalg.norm(joined, axis=0).sum() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(joined.sum(axis=1), sums.sum(axis=1), rtol=1e-6)
    assert any(np.allclose(column, sums[:, i] + sums[:, j]) for column in joined.T)


def test_words_that_nobody_had_make_a_document_longer():
    X, _ = planted_rows()
    directions = Directions.none(4, 40, seed=0).learned(X)
    row = X[[0]]
    wide = sparse.csr_array(np.hstack([row.toarray(), [[row.toarray().max() * 3]]]))
    length, longer = np.linalg.norm(row.toarray()), np.linalg.norm(wide.toarray())
    np.testing.assert_allclose(
        directions.cosines(wide), directions.cosines(row) * length / longer, rtol=1e-5
    )


def test_scale_and_empty_rows_do_not_matter():
    X, _ = planted_rows()
    a = Directions.none(4, 40, seed=0).learned(X)
    b = Directions.none(4, 40, seed=0).learned(X * 1024.0)
    np.testing.assert_array_equal(a.sums, b.sums)
    empty = sparse.csr_array((5, 40))
    assert a.learned(empty) is a
    np.testing.assert_array_equal(a.cosines(empty), 0)


# ------------------------------------------------------------------------ vocabulary


def test_weights_follow_the_stream():
    words = GrowingWords()
    counts, new = words.counts(["rain rain wind", "wind snow"])
    assert new == ["rain", "wind", "snow"]
    words.enter(new)
    words.learn(counts)
    later, more = words.counts(["rain storm storm wind"])
    assert more == ["storm"]
    weights = words.weights(later).toarray()[0]
    expected = [np.log(2 / 1), 0, 0, (1 + np.log(2)) * np.log(2 + 1)]
    np.testing.assert_allclose(weights, expected)


def test_counts_agree_with_scikit_learn():
    documents, _ = texts(list(TOPICS), 50)
    words = GrowingWords(CountVectorizer())
    counts, new = words.counts(documents)
    theirs = CountVectorizer().fit(documents)
    order = [theirs.vocabulary_[word] for word in new]
    np.testing.assert_array_equal(counts.toarray(), theirs.transform(documents).toarray()[:, order])


def test_of_copies_one_is_enough():
    rows = sparse.csr_array(np.ones((4, 1)) * [[0.6, 0.8]])
    assert len(_spread(rows, 3, np.random.default_rng(0))) == 1


def test_counts_that_are_weighed_stay_as_they_are():
    counts = sparse.csr_array(([1.0, 0.0, 2.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    GrowingWords().weights(counts)
    assert counts.data.tolist() == [1, 0, 2]  # the stored zero, too


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rare_words_leave_and_everything_follows(model):
    documents, _ = texts(list(TOPICS), 120)
    oddities = [f"{text} oddity{number}abc" for number, text in enumerate(documents)]
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    detector = NovelDocumentDetector(
        4, model=model, max_words=60, vectorizer=vectorizer, random_state=0, verbose=0
    ).fit(oddities[:60])
    detector.step(oddities[60:])
    assert len(detector.words_) <= 60
    assert set(TOPICS["sport"]) < set(detector.words_)  # frequent ones stay
    assert detector.components_.shape[1] == len(detector.words_)
    scores = detector.novelty_scores(documents)
    assert np.isfinite(scores).all()
    assert detector.step(documents).scores.shape == (120,)


@pytest.mark.parametrize("divergence", ["kl", "squared_l2"])
def test_features_that_stay_keep_what_was_learned_of_them(divergence):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((60, 12)) * (rng.random((60, 12)) < 0.5))
    model = OnlineNMF(3, divergence=divergence, random_state=0, verbose=0).partial_fit(X)
    D, before = model.components_.copy(), model.statistics_.arrays()
    columns = [7, 2, 9, 10]
    model.keep_features(columns)
    np.testing.assert_array_equal(model.components_, D[:, columns])
    for name, values in model.statistics_.arrays().items():
        axes = model.statistics_.AXES[name]
        expected = before[name]
        if axes.endswith("F") and expected.shape[-1] > 1:
            expected = expected[..., columns]
        np.testing.assert_array_equal(values, expected)
    assert model.partial_fit(X[:, columns]).components_.shape == (3, 4)
    with pytest.raises(ValueError, match="numbers of features to keep"):
        model.keep_features([4])


# ------------------------------------------------------------------------- detection


def test_a_new_topic_is_found_and_soon_known():
    start, _ = texts(["weather", "music"], 200)
    detector = NovelDocumentDetector(10, random_state=0, verbose=0).fit(start)
    step = detector.step(texts(["weather", "music"], 100, seed=1)[0])
    assert step.novel.mean() < 0.15
    news, labels = texts(["weather", "music", "politics"], 100, seed=2)
    step = detector.step(news)
    truth = labels == "politics"
    assert roc_auc_score(truth, step.scores) > 0.99
    assert step.novel[truth].mean() > 0.9
    assert len(step.topics) >= 1
    assert set(step.topics[0].words) <= set(TOPICS["politics"]) | set(COMMON)
    assert labels[step.topics[0].representative.place] == "politics"
    assert step.topics[0].representative.text == news[step.topics[0].documents[0]]
    assert step.topics[0].p_value < 1e-6
    again, labels = texts(["weather", "music", "politics"], 100, seed=3)
    step = detector.step(again)
    assert step.novel[labels == "politics"].mean() < 0.3


@pytest.mark.parametrize(("start", "size"), [(400, 200), (60, 40), (30, 300)])
def test_marks_hold_the_false_alarm_rate(start, size):
    """Exchangeable documents are marked at the rate asked for, or less, also after small starts."""
    first, _ = texts(list(TOPICS), start)
    detector = NovelDocumentDetector(8, false_alarm_rate=0.1, random_state=0, verbose=0).fit(first)
    marks = [detector.step(texts(list(TOPICS), size, seed=s)[0]).novel for s in range(1, 7)]
    rate = np.concatenate(marks).mean()
    assert 0.01 < rate < 0.12
    assert max(mark.sum() for mark in marks) <= binom.ppf(0.999, size, 0.1)


def test_every_document_of_the_start_tells_what_is_usual():
    """So finely are scores told apart: the most novel document of n + 1 has p = 1/(n + 1)."""
    start, _ = texts(["weather", "music"], 300)
    detector = NovelDocumentDetector(2, random_state=0, verbose=0).fit(start)
    (p,) = detector.step(["parliament budget minister election"]).p_values
    assert p == pytest.approx(1 / 301)
    model = OnlineNMF(2, divergence="kl", verbose=0)
    other = NovelDocumentDetector(2, model=model, random_state=0, verbose=0).fit(start[:100])
    (p,) = other.step(["parliament budget minister election"]).p_values
    assert p == pytest.approx(1 / 41)  # these hold some out: twice as many as one in twenty takes


def test_documents_are_left_out_of_their_directions():
    """As if each had been taken out of the sum of its group; one that was alone leaves nothing."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(12, 6))) * np.repeat(np.eye(3), 2, axis=1)[rng.integers(3, size=12)]
    alone = np.zeros((1, 8))
    alone[0, 6:] = 1
    X = np.vstack([np.hstack([X, 0.1 * rng.random((12, 2))]), alone])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    group = np.append(unit[:12, :6].reshape(12, 3, 2).sum(axis=2).argmax(axis=1), 3)
    sums = np.stack([unit[group == k].sum(axis=0) for k in range(4)]).astype(np.float32)
    known = Directions(np.ascontiguousarray(sums.T), 4, 0)
    best = []
    for u, own in zip(unit, group, strict=True):
        others = [s - u * (k == own) for k, s in enumerate(sums) if k != own or own != 3]
        best.append(max(u @ s / np.linalg.norm(s) for s in others))
    np.testing.assert_allclose(known.left_out_cosines(sparse.csr_array(X)), best, atol=1e-6)


def test_scores_are_mean_distances_and_so_are_those_that_they_are_compared_with():
    start, _ = texts(list(TOPICS), 80)
    detector = NovelDocumentDetector(5, random_state=0, verbose=0).fit(start)
    words = detector._words
    counts = words.counts(start)[0]
    rows = unit_rows(words.weights(counts)).toarray().astype(float)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    near = 1 - np.sort(cosines, axis=1)[:, -3:].mean(axis=1)
    far = 1 - detector._memory.directions.left_out_cosines(words.weights(counts))
    (new,) = detector.novelty_scores(["rain parliament budget"])
    row = unit_rows(words.weights(words.counts(["rain parliament budget"])[0])).toarray()[0]
    mine = [
        1 - detector._memory.directions.cosines(sparse.csr_array(row[None])).max(),
        1 - np.sort(rows @ row)[-3:].mean(),
    ]
    assert new == pytest.approx(np.mean(mine), rel=1e-4)
    usual = np.mean([far, near], axis=0)
    p_values = detector.step(["rain parliament budget"]).p_values
    assert p_values[0] == pytest.approx((1 + np.sum(usual >= new)) / 81)


def test_a_step_that_differs_as_a_whole_is_told_and_not_flagged():
    """All documents have words of their own in it: the stream has changed."""
    start, _ = texts(list(TOPICS), 400)
    detector = NovelDocumentDetector(8, random_state=0, verbose=0).fit(start)
    usual = detector.step(texts(list(TOPICS), 200, seed=1)[0])
    rng = np.random.default_rng(0)
    changed = [
        f"{text} " + " ".join("".join(rng.choice(list("bcdfgh"), 6)) for _ in range(2))
        for text in texts(list(TOPICS), 200, seed=2)[0]
    ]
    step = detector.step(changed)
    assert usual.shift == 0
    assert step.shift > 0.5
    assert step.novel.mean() < 0.15
    assert np.mean(step.scores > np.quantile(usual.scores, 0.95)) > 0.4  # what it would be without


def test_a_known_story_that_grows_is_no_news():
    """Three documents of it were among the last, and now it fills a third of a step."""
    start, _ = texts(["weather", "music"], 300)
    few, many = texts(["politics"], 3, seed=1)[0], texts(["politics"], 40, seed=2)[0]
    detector = NovelDocumentDetector(10, random_state=0, verbose=0).fit([*start, *few])
    step = detector.step([*texts(["weather", "music"], 80, seed=3)[0], *many])
    assert np.sum(step.p_values <= 0.05) <= binom.ppf(0.99, 120, 0.05)
    grown = [topic for topic in step.topics if topic.n_before]
    assert sum(len(topic.documents) for topic in grown) > 20  # but it is told as a group
    fresh = NovelDocumentDetector(10, random_state=0, verbose=0).fit(start)
    step = fresh.step([*texts(["weather", "music"], 80, seed=3)[0], *many])
    assert step.novel[80:].mean() > 0.9  # without the three it is news, all of it
    assert step.novel[:80].sum() <= binom.ppf(0.99, 80, 0.05)


def test_a_turn_without_a_common_subject_is_bounded_and_told():
    """A third of a step has words of its own, each others: more than chance, and no group."""
    start, _ = texts(list(TOPICS), 400)
    detector = NovelDocumentDetector(8, random_state=0, verbose=0).fit(start)
    rng = np.random.default_rng(0)
    step, turned = texts(list(TOPICS), 150, seed=2)[0], 50
    for n in range(turned):
        step[n] += " " + " ".join("".join(rng.choice(list("bcdfgh"), 6)) for _ in range(6))
    told = detector.step(step)
    most = binom.ppf(0.99, 150, 0.05)
    assert np.sum(told.p_values <= 0.05) > 2 * most  # what it would be without
    assert told.novel.sum() == most
    assert told.novel[:turned].sum() > 0.8 * most
    assert told.shift > 0
    again = texts(list(TOPICS), 150, seed=3)[0]
    for n in range(turned):
        again[n] += " " + " ".join("".join(rng.choice(list("jklmnp"), 6)) for _ in range(6))
    later = detector.step(again)  # p-values have learned from it
    assert np.sum(later.p_values <= 0.05) < 0.5 * np.sum(told.p_values <= 0.05)


def test_follow_ups_of_what_was_marked_are_compared_with_their_like():
    start, _ = texts(["weather", "music"], 200)
    detector = NovelDocumentDetector(10, random_state=0, verbose=0).fit(start)
    first = detector.step([*start[:50], "parliament budget minister", "parliament election budget"])
    assert first.novel[-2:].all()
    again = detector.step([*start[50:100], "parliament budget election minister"])
    assert again.scores[-1] > np.quantile(first.scores, 0.9)
    assert not again.novel[-1]


def test_explanations_name_the_words_and_the_nearest_atoms():
    start, _ = texts(["weather", "music"], 200)
    detector = NovelDocumentDetector(2, random_state=0, verbose=0).fit(start)
    told = detector.explain("parliament budget minister rain")
    assert {word for word, _ in told.unexplained[:3]} == {"parliament", "budget", "minister"}
    assert sum(share for _, share in told.unexplained) <= 1 + 1e-9
    assert set(told.nearest[0][0]) <= set(TOPICS["weather"]) | set(COMMON)
    known = detector.explain("rain wind storm snow")
    assert known.score < told.score
    assert known.score == pytest.approx(detector.novelty_scores(["rain wind storm snow"])[0])


@pytest.mark.parametrize("divergence", ["kl", "squared_l2", "l1"])
def test_any_dictionary_of_the_library_serves(divergence):
    start, _ = texts(["weather", "music"], 200)
    model = OnlineNMF(6, divergence=divergence, random_state=0, verbose=0, n_jobs=1)
    if divergence == "l1":
        model.set_params(init="samples")
    detector = NovelDocumentDetector(model=model, n_new_atoms=2, random_state=0, verbose=0)
    detector.fit(start)
    for seed in (4, 5):
        detector.step(texts(["weather", "music"], 100, seed=seed)[0])
    told = detector.explain("parliament budget minister rain")
    assert {word for word, _ in told.unexplained[:3]} == {"parliament", "budget", "minister"}
    news, labels = texts(["weather", "music", "politics"], 100, seed=2)
    step = detector.step(news)
    assert roc_auc_score(labels == "politics", step.scores) > 0.9
    assert len(detector.components_) > 6


def scaled(detector, documents, unit):
    """What a mode of paper B sees: weights of the documents before, sum or length one."""
    rows = detector._words.weights(detector._words.counts(documents)[0]).toarray()
    norms = rows.sum(axis=1) if unit == "l1" else np.linalg.norm(rows, axis=1)
    return rows / norms[:, None]


def by_linear_program(x, D, weight=0.1):
    """``min over c ≥ 0 of ‖x − cD‖₁ + λ Σ c``, residuals split in two."""
    K, F = D.shape
    cost = np.concatenate([np.full(K, weight), np.ones(2 * F)])
    equal = np.hstack([D.T, np.eye(F), -np.eye(F)])
    return linprog(cost, A_eq=equal, b_eq=x).fun


def by_least_squares(x, D, weight=0.1):
    """``min over c ≥ 0 of ½‖x − cD‖² + λ Σ c``."""
    c = minimize(
        lambda c: ((x - c @ D) ** 2).sum() / 2 + weight * c.sum(),
        np.zeros(len(D)),
        jac=lambda c: (c @ D - x) @ D.T + weight,
        bounds=[(0, None)] * len(D),
        options={"ftol": 1e-14, "gtol": 1e-10, "maxiter": 1000},
    )
    return c.fun


def first_rows(documents):
    """What the model of a published mode learns first: all documents, held out or not."""
    words = GrowingWords()
    counts, new = words.counts(documents)
    words.enter(new)
    words.learn(counts)
    rows = words.weights(counts).toarray()
    return sparse.csr_array(rows / rows.sum(axis=1, keepdims=True))


FEW = {"iterations": 200, "rounds": 3}


@pytest.mark.parametrize(
    ("mode", "unit", "exact", "area"),
    [
        (online(**FEW), "l1", by_linear_program, 0.75),
        (batch_impl(**FEW), "l1", by_linear_program, 0.75),
        ("l2_batch", "l2", by_least_squares, 0.95),
    ],
    ids=["online", "batch_impl", "l2_batch"],
)
def test_published_modes_score_by_the_optimum_and_find_a_new_topic(mode, unit, exact, area):
    start, _ = texts(["weather", "music"], 120)
    detector = NovelDocumentDetector(4, mode=mode, n_new_atoms=4, random_state=0, verbose=0)
    detector.fit(start)
    news, labels = texts(["weather", "music", "politics"], 60, seed=2)
    known = [text for text, label in zip(news, labels, strict=True) if label != "politics"][:6]
    D = detector.components_.astype(np.float64)
    best = [exact(x, D) for x in scaled(detector, known, unit)]
    np.testing.assert_allclose(detector.novelty_scores(known), best, rtol=2e-3)
    novel = roc_auc_score(labels == "politics", detector.step(news).scores)
    assert novel > area
    again, labels = texts(["weather", "music", "politics"], 60, seed=3)
    assert roc_auc_score(labels == "politics", detector.step(again).scores) < novel - 0.05


@pytest.mark.parametrize("mode", [batch_impl(**FEW), "l2_batch"], ids=["batch_impl", "l2_batch"])
def test_algorithms_4_and_5_learn_from_all_documents(mode):
    """From the old atoms and the least explained new documents, which become atoms."""
    start, _ = texts(["weather", "music"], 80)
    news, _ = texts(["weather", "music", "politics"], 60, seed=2)
    detector = NovelDocumentDetector(4, mode=mode, n_new_atoms=3, random_state=0, verbose=0)
    detector.fit(start)
    old = detector._memory.model
    assert len(old.components_) == 4
    scores = detector.step(news).scores
    memory = detector._memory
    assert memory.documents.shape[0] == 140
    assert memory.documents.dtype == np.float64
    begun = copy.deepcopy(old).grow(n_features=memory.width)
    worst = np.argsort(-scores, kind="stable")[:3]
    begun.grow(atoms=memory.documents[80:][worst].toarray())
    reached, began = (m.objective_samples(memory.documents).mean() for m in (memory.model, begun))
    assert memory.model.components_.shape == begun.components_.shape
    assert reached < began


def test_online_mode_is_one_step_of_the_published_dictionary():
    """It starts where the batch method ends on the first documents."""
    start, _ = texts(["weather", "music"], 80)
    news, _ = texts(["weather", "music"], 40, seed=1)
    mode = online(**FEW)
    detector = NovelDocumentDetector(4, mode=mode, random_state=0, verbose=0).fit(start)
    model = copy.deepcopy(detector._memory.model)
    assert not len(model.history_)
    assert not model.statistics_.Delta.size
    starter = detector._memory.starter
    assert (starter.solver, starter.max_iter) == (mode.starter, 3)
    first = clone(starter).fit(first_rows(start)).components_
    np.testing.assert_allclose(model.components_, first, atol=1e-9)
    rows = sparse.csr_array(scaled(detector, news, "l1"))
    detector.step(news)
    np.testing.assert_allclose(detector.components_, model.partial_fit(rows).components_, atol=1e-9)
    assert detector._memory.documents is None


def test_an_orthogonal_dictionary_sees_the_terms_that_it_began_with():
    """Paper D, example 2. Rare words are no sparse and familiar code, as they would be for T_k."""
    start, _ = texts(["weather", "music"], 300)
    start[:6] = texts(["politics"], 6, seed=3)[0]
    model = OnlineOrthogonalDictionary(random_state=0, verbose=0, n_nonzero=5, n_jobs=1)
    detector = NovelDocumentDetector(40, model=model, random_state=0, verbose=0).fit(start)
    assert detector.components_.shape == (40, len(detector.words_))
    np.testing.assert_allclose(detector.components_ @ detector.components_.T, np.eye(40), atol=1e-9)
    news, labels = texts(["weather", "music", "politics"], 200, seed=2)
    scores = detector.novelty_scores(news)
    assert roc_auc_score(labels == "politics", scores) > 0.99
    assert scores.min() >= 0
    assert scores.max() <= 1 + 1e-6
    free = model.set_params(random_state=None)  # then the seed of the detector is taken
    seeded = [NovelDocumentDetector(40, model=free, random_state=0, verbose=0) for _ in range(2)]
    one, two = (each.fit(start).novelty_scores(news) for each in seeded)
    np.testing.assert_array_equal(one, two)
    told = detector.explain("parliament budget minister rain", n_atoms=40)
    assert {word for word, _ in told.unexplained[:3]} == {"parliament", "budget", "minister"}
    # A document is what the strongest atoms hold of it, and the rest is novel.
    assert len(told.nearest) <= 5
    assert told.score + sum(share for _, share in told.nearest) == pytest.approx(1.0)
    np.testing.assert_array_equal(detector.novelty_scores(["hitherto unheard"]), [0.0])
    for wrong in ({"model": model, "n_new_atoms": 3}, {"model": model.set_params(whiten=True)}):
        with pytest.raises(ValueError, match="number of terms"):
            NovelDocumentDetector(40, verbose=0, **wrong).fit(start)


def test_sixty_documents_are_enough_to_start_from():
    """The example of the docstring: the rule needs scores of twenty documents and more."""
    old = ["rain falls on the hills", "wind and rain in the north", "snow on northern hills"]
    detector = NovelDocumentDetector(3, random_state=0, verbose=0).fit(old * 20)
    step = detector.step([*old, "parliament votes on the new budget"])
    assert step.novel.tolist() == [False, False, False, True]


def test_scoring_is_pure_and_steps_are_repeatable():
    start, _ = texts(["weather", "music"], 100)
    news, _ = texts(list(TOPICS), 50, seed=1)
    one, two = (NovelDocumentDetector(5, random_state=0, verbose=0).fit(start) for _ in range(2))
    scores = one.novelty_scores(news)
    np.testing.assert_array_equal(scores, one.novelty_scores(news))
    np.testing.assert_array_equal(one.step(news).scores, two.step(news).scores)
    np.testing.assert_array_equal(scores, NovelDocumentDetector(
        5, random_state=0, verbose=0).fit(start).novelty_scores(news))  # fmt: skip
    single = np.concatenate([two.novelty_scores([text]) for text in news])
    np.testing.assert_allclose(two.novelty_scores(news), single, rtol=1e-6, atol=1e-7)


def test_memory_does_not_grow():
    rng = np.random.default_rng(0)
    table = sparse.random_array((400, 500), density=0.04, rng=rng, format="csr")
    table.data = np.ceil(table.data * 3)
    detector = NovelDocumentDetector(10, random_state=0, verbose=0).fit(table)
    tracemalloc.start()
    for _ in range(12):
        detector.step(table)  # then as many scores are remembered as ever will be
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(8):
        detector.step(table)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_detector_goes_on_from_a_file(model, tmp_path):
    start, _ = texts(["weather", "music"], 100)
    detector = NovelDocumentDetector(4, model=model, random_state=0, verbose=0).fit(start)
    detector.step(texts(["weather", "sport"], 50, seed=1)[0])
    save(detector, tmp_path / "detector.thresher")
    again = load(tmp_path / "detector.thresher")
    news, _ = texts(list(TOPICS), 50, seed=2)
    for seed in range(2):
        one, two = detector.step(news), again.step(news)
        np.testing.assert_array_equal(one.scores, two.scores)
        np.testing.assert_array_equal(one.novel, two.novel)
        assert one.topics == two.topics
        news, _ = texts(list(TOPICS), 50, seed=3 + seed)
    assert again.words_ == detector.words_
    with pytest.raises(ValueError, match="nothing to save"):
        save(NovelDocumentDetector(), tmp_path / "none.thresher")


# ------------------------------------------------------------------------ time steps


def records():
    days = ["1998-01-05", "1998-01-05", "1998-01-11", "1998-01-12", "1998-02-01"]
    return [{"text": f"rain {n}", "day": day} for n, day in enumerate(days)]


def test_steps_by_date_and_by_count(tmp_path):
    by_week = list(document_steps(records(), date_field="day", every="week"))
    assert [(s.name, len(s.documents)) for s in by_week] == [
        ("1998-01-05", 3), ("1998-01-12", 1), ("1998-01-26", 1)
    ]  # fmt: skip
    assert [r.id for step in by_week for r in step.records] == list("01234")
    assert by_week[1].records[0].title == by_week[1].documents[0] == "rain 3"
    by_month = list(document_steps(records(), date_field="day", every="month"))
    assert [(s.name, len(s.documents)) for s in by_month] == [("1998-01-01", 4), ("1998-02-01", 1)]
    path = tmp_path / "news.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records())
    frame = pd.DataFrame(records())
    frame["day"] = pd.to_datetime(frame["day"])
    for source in (path, str(path), frame, iter(records())):
        steps = list(document_steps(source, date_field="day", every="week"))
        assert [step[:2] for step in steps] == [step[:2] for step in by_week]
        assert [r.date[:10] for step in steps for r in step.records] == [
            record["day"] for record in records()
        ]
    by_count = list(document_steps([record["text"] for record in records()], 2))
    assert [len(step.documents) for step in by_count] == [2, 2, 1]
    table = sparse.csr_array(np.eye(5))
    assert [step.documents.shape[0] for step in document_steps(table, 2)] == [2, 2, 1]


def test_a_stream_is_watched(tmp_path):
    path = tmp_path / "news.jsonl"
    lines = []
    for month, topics in ((1, ["weather"]), (2, ["weather"]), (3, ["weather", "sport"])):
        date = f"2020-{month:02d}-15"
        documents, _ = texts(topics, 60, seed=month)
        lines.extend(
            json.dumps({"text": text, "date": date, "key": f"{month}/{n}", "head": text[:4]})
            for n, text in enumerate(documents)
        )
    path.write_text("\n".join(lines))
    detector = NovelDocumentDetector(5, random_state=0, verbose=0)
    fields = {"date_field": "date", "id_field": "key", "title_field": "head"}
    found = list(detector.watch(path, every="month", **fields))
    assert [step.name for step in found] == ["2020-01-01", "2020-02-01", "2020-03-01"]
    assert [step.start for step in found] == [True, False, False]
    assert not found[0].novel.any()
    assert found[1].novel.mean() < 0.2 < found[2].novel.mean()
    assert detector.n_documents_ == 180
    topic = found[2].topics[0]
    assert [record.place for record in topic.records] == topic.documents
    for record in topic.records:
        assert record.id == f"3/{record.place}"
        assert record.title == record.text[:4]
        assert record.date == "2020-03-15"
    assert len(detector.step(["rain"], records=[Record(7, "mine")]).records) == 1
    with pytest.raises(ValueError, match="one for each"):
        detector.step(["rain", "snow"], records=[Record(0, "mine")])


def test_a_file_that_grows_is_followed(tmp_path):
    path = tmp_path / "news.jsonl"
    documents = texts(["weather", "sport"], 90)[0]
    lines = [json.dumps({"text": text}) for text in documents]
    path.write_text("\n".join(lines[:40]) + "\n" + lines[40][:9])  # in the middle of a line
    detector = NovelDocumentDetector(3, random_state=0, verbose=0)
    steps = detector.watch(path, 30, follow=True)
    assert next(steps).start
    late = threading.Timer(0.3, lambda: _append(path, lines[40][9:], *lines[41:]))
    late.start()
    assert [record.text for record in next(steps).records] == documents[30:60]
    assert [record.text for record in next(steps).records] == documents[60:]
    late.join()
    steps.close()
    packed = tmp_path / "news.jsonl.gz"
    packed.touch()
    with pytest.raises(ValueError, match="cannot be followed"):
        next(detector.watch(packed, follow=True))
    with pytest.raises(ValueError, match="Only a file"):
        next(detector.watch(documents, follow=True))


def _append(path, *lines):
    with path.open("a") as file:
        file.write("\n".join(lines) + "\n")


def test_texts_are_kept_only_if_they_are_asked_for(tmp_path):
    start, _ = texts(["weather", "music"], 60)
    private = "Confidential: rain wind storm"
    for keep in (False, True):
        detector = NovelDocumentDetector(3, keep_texts=keep, random_state=0, verbose=0)
        detector.fit([*start, private])
        path = tmp_path / "detector.thresher"
        save(detector, path)
        assert (b"Confidential: rain" in path.read_bytes()) == keep
        again = load(path)
        told = again.explain("confidential rain wind storm")
        assert told == detector.explain("confidential rain wind storm")
        assert [record.text for record, _ in told.similar[:1]] == ([private] if keep else [])
    assert told.similar[0][0].id == "60"
    assert told.similar[0][1] > 0.99


def test_emerging_topics_are_groups_with_support():
    documents, labels = texts(["politics", "sport"], 30)
    documents.append("zebra quagga okapi giraffe gazelle antelope")
    words = GrowingWords()
    counts, new = words.counts(documents)
    words.enter(new)
    words.learn(counts)
    X = words.weights(counts)
    places = np.arange(100, 131)
    topics = emerging_topics(X, places, new, np.ones(31))
    assert all(np.isnan(topic.p_value) for topic in topics)
    assert len(topics) == 2
    for topic in topics:
        assert len({labels[place - 100] for place in topic.documents}) == 1
    assert 130 not in functools.reduce(operator.iadd, (topic.documents for topic in topics), [])


# ------------------------------------------------------------------------------ rules


def test_groups_are_judged_by_where_their_documents_come_from():
    """The chance of a group is that of its share of the step if documents were shuffled."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(6), 10)
    rows = np.repeat(np.eye(6), 10, axis=0) + 0.05 * rng.random((60, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    in_step = np.isin(np.arange(60), [*range(4), 12, 23, 34, 45])  # four of the first kind
    step, recent = sparse.csr_array(rows[in_step]), sparse.csr_array(rows[~in_step])
    # The least explained quarter: all of the first kind, and five of the second.
    scores = np.where(kinds == 0, 2.0, np.where(np.arange(60) < 15, 1.0, 0.0))
    beside = topics_beside(step, scores[in_step], recent, scores[~in_step], list("abcdef"))
    assert beside.topics == []  # a third of them would be in the step anyhow
    assert beside.alone.all()
    assert not beside.new.any()
    assert not beside.among.any()
    step, recent = sparse.csr_array(rows[:8]), sparse.csr_array(rows[10:])
    scores = np.where(kinds == 0, 2.0, np.where(np.arange(60) < 17, 1.0, 0.0))
    names = list("abcdef")
    (topic,), alone, new, among = topics_beside(step, scores[:8], recent, scores[10:], names)
    draws = np.array([rng.permutation(15)[:8].max() < 8 for _ in range(20_000)])
    exactly = 1 / comb(15, 8)  # all eight in the group of eight
    assert draws.mean() == pytest.approx(exactly, abs=5e-4)
    assert topic.p_value == pytest.approx(2 * exactly)  # two groups were looked at
    assert sorted(topic.documents) == list(range(8))
    assert topic.words[0] == "a"
    assert topic.n_before == 0
    assert not alone.any()
    assert new.all()
    assert not among.any()


@pytest.mark.parametrize("n_before", [0, 1, 3])
def test_documents_of_a_story_that_grows_are_compared_with_their_own_kind(n_before):
    """By hand: the share of the story's own last documents that score as high; two at least."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(6), 20, axis=0) + 0.05 * rng.random((120, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    mine, theirs = np.arange(12), np.r_[20 - n_before : 120]
    scores = 2.0 + 0.1 * rng.random(120)
    scores[20:] -= 1  # the first kind is the least explained of all
    step, recent = sparse.csr_array(rows[mine]), sparse.csr_array(rows[theirs])
    beside = topics_beside(step, scores[mine], recent, scores[theirs], list("abcdef"))
    (topic,) = beside.topics
    assert topic.n_before == n_before
    assert beside.new.all() == (n_before == 0)
    assert not beside.alone.any()
    kind = scores[20 - n_before : 20]
    expected = [(1 + np.sum(kind >= s)) / (1 + n_before) for s in scores[mine]]
    np.testing.assert_allclose(beside.among, expected if n_before > 1 else 0)


def test_rules_of_alarm():
    scores, p = np.array([0.1, 0.9, 0.5, 0.7]), np.array([0.9, 0.01, 0.3, 0.04])
    assert Alarm(threshold=0.6).marks(scores, p).tolist() == [False, True, False, True]
    assert Alarm(top_share=0.25).marks(scores, p).tolist() == [False, True, False, False]
    assert Alarm(false_alarm_rate=0.05).marks(scores, p).tolist() == [False, True, False, True]
    past = np.linspace(0, 1, 101)
    np.testing.assert_allclose(
        share_as_high(past, scores), [92 / 102, 12 / 102, 52 / 102, 32 / 102]
    )
    assert share_as_high(np.zeros(0), scores).tolist() == [1.0] * 4  # nothing is known yet


def test_chance_bounds_the_marks_of_a_step():
    """No more than the 99 % bound of the binomial; documents of new groups are not counted."""
    rng = np.random.default_rng(0)
    n, rate, alarm = 200, 0.1, Alarm(false_alarm_rate=0.1)
    p = np.concatenate([rng.uniform(0.01, rate, 60), rng.uniform(rate, 1, n - 60)])
    scores = -np.round(p, 2)  # with ties
    together = np.arange(n) < 25
    most = next(k for k in range(n) if binom.cdf(k, n - 25, rate) >= 0.99)
    marks = alarm.marks(scores, p, together)
    assert marks[:25].all()
    assert marks[25:].sum() == most < 35
    assert p[25:][marks[25:]].max() < p[25:60][~marks[25:60]].min()  # the most novel
    shift = alarm.excess(p, marks)
    lowered = norm.sf(norm.isf(p) - shift - 1e-9)
    assert (lowered[25:] <= rate).sum() == most
    p[90:100] = 1e-4  # so small that hardly any can be false: they are not bounded
    most = next(k for k in range(n) if binom.cdf(k, n - 35, rate) >= 0.99)
    marks = alarm.marks(scores, p, together)
    assert marks[90:100].all()
    assert marks[25:90].sum() == most < 35
    none = np.zeros(n, dtype=bool)
    for few in (p[:12], rng.uniform(0, 1, n)):  # a small step, and what chance does
        np.testing.assert_array_equal(alarm.marks(-few, few, none[: len(few)]), few <= rate)
        assert alarm.excess(few, few <= rate) == 0
    found = Alarm(fdr=rate).marks(scores, p, none)
    np.testing.assert_array_equal(found, Alarm(fdr=rate).marks(scores, p))
    assert Alarm(fdr=rate).excess(p, found) == 0


def test_false_discoveries_are_controlled_as_by_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = np.concatenate([rng.random(60), 0.02 * rng.random(rng.integers(1, 30))])
        expected = false_discovery_control(p) <= 0.1
        np.testing.assert_array_equal(Alarm(fdr=0.1).marks(p, p), expected)
    assert not Alarm(fdr=0.1).marks(np.ones(5), np.ones(5)).any()


def seen(*steps):
    """What is known of scores that came one after the other."""
    usual = PastScores()
    for scores in steps:
        judged = Judged(scores, usual.p_values(scores))
        usual = usual.learned(None, None, judged, 0.05, [])
    return usual


def test_marks_follow_scores_that_fall():
    """What is known grows, so scores fall; the rate stays, and what is novel is still marked."""
    rng = np.random.default_rng(0)
    usual = [rng.normal(1.0, 0.1, 500)]
    for fall in np.arange(1, 8) * 0.1:
        old, new = rng.normal(1.0 - fall, 0.1, 300), rng.normal(1.4 - fall, 0.1, 200)
        marks = seen(*usual).p_values(np.concatenate([old, new])) <= 0.05
        assert marks[:300].mean() < 0.1
        assert marks[300:].mean() > 0.8
        usual.append(old)


def test_steady_scores_are_marked_at_the_rate():
    """The lower quartile of a step is uncertain; that must not raise the rate."""
    rng = np.random.default_rng(1)
    usual, marked = seen(rng.normal(size=1000)), []
    for _ in range(200):
        scores = rng.normal(size=60)
        p_values = usual.p_values(scores)
        marked.append(np.mean(p_values <= 0.05))
        usual = usual.learned(None, None, Judged(scores, p_values), 0.05, [])
    assert 0.03 < np.mean(marked) < 0.065


def test_what_is_novel_does_not_become_usual():
    rng = np.random.default_rng(0)
    usual = seen(*(rng.random(300) for _ in range(5)))  # nothing is novel: nothing is left out
    assert len(usual.past) == 1500
    assert np.mean(usual.past) == pytest.approx(0.5, abs=0.03)
    scores = np.concatenate([rng.random(100), 5 + rng.random(100)])
    usual = usual.learned(None, None, Judged(scores, usual.p_values(scores)), 0.05, [])
    assert len(usual.past) < 1500 + 100 + 21
    assert (usual.p_values(np.array([0.98, 0.5])) <= 0.1).tolist() == [True, False]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "best"}, "use one of auto"),
        ({"n_components": 0}, "positive integer"),
        ({"threshold": 0.5, "top_share": 0.1}, "not both"),
        ({"threshold": 0.5, "fdr": 0.1}, "not both"),
        ({"false_alarm_rate": 1.5}, "between 0 and 1"),
        ({"fdr": 0}, "between 0 and 1"),
        ({"vectorizer": object()}, "CountVectorizer"),
        ({"model": 3}, "cannot score documents"),
    ],
)
def test_parameters_that_cannot_work(parameters, message):
    with pytest.raises(ValueError, match=message):
        NovelDocumentDetector(verbose=0, **parameters).fit(["rain wind", "wind snow"])


def test_mistakes_have_a_sentence():
    detector = NovelDocumentDetector(2, random_state=0, verbose=0)
    with pytest.raises(ValueError, match="call fit"):
        detector.step(["rain"])
    for nothing in (["", ""], ["the and"], ["same words", "same words"]):
        with pytest.raises(ValueError, match="no word in the documents"):
            detector.fit(nothing)
    detector.fit(texts(["weather"], 20)[0])
    for bad, message in (([None], "not a text"), ("rain", "brackets"), ([], "at least one")):
        before = detector.components_.copy()
        with pytest.raises(ValueError, match=message):
            detector.step(bad)
        np.testing.assert_array_equal(detector.components_, before)
    with pytest.raises(ValueError, match="one document at a time"):
        detector.explain(["rain wind", "snow"])
    with pytest.raises(ValueError, match="keep their columns"):
        detector.step(sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="sort them first"):
        list(document_steps(records()[::-1], date_field="day"))
    with pytest.raises(ValueError, match="no field 'when'"):
        list(document_steps(records(), date_field="when"))
    with pytest.raises(ValueError, match="is not a date"):
        list(document_steps([{"text": "a", "day": "soon"}], date_field="day"))
    with pytest.raises(ValueError, match="There is no file"):
        list(document_steps("nowhere.jsonl"))


def test_documents_without_a_word_are_not_novel():
    detector = NovelDocumentDetector(2, random_state=0, verbose=0).fit(texts(["weather"], 40)[0])
    step = detector.step(["", "the", "rain wind"])
    assert not step.novel[:2].any()
    assert step.scores[0] < step.scores[2]
