"""Novel documents: planted news, the false-alarm rate, explanations, streams and files."""

import gzip
import json
import threading
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog, nnls
from scipy.stats import binom
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from tasks.planted_documents import COMMON, SUBJECTS, count_words, documents, tf_idf
from thresher import NovelDocumentDetector, OnlineNMF, OnlineOrthogonalDictionary, load, save
from thresher.solvers import batch_impl, online

QUIET = {"random_state": 0, "verbose": 0}
OLD = ["weather", "music"]
NEW = ["weather", "music", "politics"]
NEWS = "parliament budget minister rain"
FEW = {"iterations": 200, "rounds": 3}
MODELS = {
    "auto": {},
    "kl": {"model": OnlineNMF(4, divergence="kl", **QUIET)},
    "squared_l2": {"model": OnlineNMF(4, divergence="squared_l2", **QUIET)},
    "l1": {"model": OnlineNMF(4, divergence="l1", init="samples", **QUIET)},
    "orthogonal": {"model": OnlineOrthogonalDictionary(n_nonzero=5, n_jobs=1, **QUIET)},
    "online": {"mode": online(**FEW)},
    "batch_impl": {"mode": batch_impl(**FEW)},
    "l2_batch": {"mode": "l2_batch"},
}


def detector(n_components=8, **options):
    return NovelDocumentDetector(n_components, **{**QUIET, **options})


@pytest.fixture(scope="module")
def start():
    return documents(OLD, 200)[0]


@pytest.fixture(scope="module")
def fitted(start):
    return detector().fit(start)


# -------------------------------------------------------------------------------- planted news


def test_a_new_subject_is_found_and_soon_known(start):
    found = detector().fit(start)
    news, labels = documents(NEW, 120, seed=2)
    step, new = found.step(news), labels == "politics"
    assert roc_auc_score(new, step.scores) > 0.98
    assert step.novel[new].mean() > 0.8
    assert step.novel[~new].sum() <= binom.ppf(0.999, np.sum(~new), 0.05)
    again, labels = documents(NEW, 120, seed=3)
    assert found.step(again).novel[labels == "politics"].mean() < 0.3
    assert found.n_documents_ == 440


def test_documents_that_are_new_together_are_a_group(start):
    news, labels = documents(NEW, 120, seed=2)
    step = detector().fit(start).step(news)
    group = step.topics[0]
    assert np.mean(labels[group.documents] == "politics") > 0.9
    assert len(group.documents) > 0.5 * np.sum(labels == "politics")
    assert set(group.words) <= set(SUBJECTS["politics"] + COMMON)
    assert group.p_value < 1e-6
    assert group.representative.text == news[group.representative.place]
    assert labels[group.representative.place] == "politics"
    assert [record.place for record in group.records] == group.documents
    known = detector().fit(start).step(documents(OLD, 120, seed=4)[0])
    assert not known.topics


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_every_mode_and_model_finds_a_new_subject(options, start):
    if "model" in options and isinstance(options["model"], OnlineOrthogonalDictionary):
        words = [*documents(["politics"], 6, seed=3)[0], *start[6:]]  # it cannot learn new ones
        found = detector(40, **options).fit(words)
    else:
        found = detector(4, n_new_atoms=4, **options).fit(start[:120])
    told = found.explain(NEWS)
    assert {word for word, _ in told.unexplained[:3]} == {"parliament", "budget", "minister"}
    news, labels = documents(NEW, 60, seed=2)
    assert roc_auc_score(labels == "politics", found.step(news).scores) > 0.75
    assert np.isfinite(found.novelty_scores(news)).all()


def test_scores_are_as_good_as_distances_to_neighbours():
    """The baseline is the mean distance to the ten nearest documents, with tf-idf of all."""
    mine, theirs = [], []
    known = ["weather", "music", "sport"]
    for seed in range(4):
        mixed = {"own": 2, "common": 8, "other": 2, "seed": seed}
        learned, _ = documents(known, 400, **mixed)
        news, labels = documents(SUBJECTS, 300, **{**mixed, "seed": 30 + seed})
        new = labels == "politics"
        mine.append(roc_auc_score(new, detector().fit(learned).step(news).scores))
        vectorizer = TfidfVectorizer(stop_words="english").fit(learned + news)
        nearest = NearestNeighbors(n_neighbors=10, metric="cosine")
        nearest.fit(vectorizer.transform(learned))
        distances, _ = nearest.kneighbors(vectorizer.transform(news))
        theirs.append(roc_auc_score(new, distances.mean(axis=1)))
    assert np.mean(mine) > np.mean(theirs) - 0.01


# ---------------------------------------------------------------------------- false-alarm rate


@pytest.mark.parametrize(("n_start", "size"), [(400, 200), (60, 40), (30, 300)])
def test_known_subjects_are_flagged_at_the_false_alarm_rate(n_start, size):
    found = detector(false_alarm_rate=0.1).fit(documents(SUBJECTS, n_start)[0])
    steps = [found.step(documents(SUBJECTS, size, seed=seed)[0]) for seed in range(1, 7)]
    rate = np.mean([step.novel for step in steps])
    assert 0.01 < rate < 0.12
    p_values = np.concatenate([step.p_values for step in steps])
    assert p_values.min() > 0
    assert p_values.max() <= 1


def test_flags_grow_with_the_rate(start):
    news, _ = documents(NEW, 120, seed=2)
    flags = []
    for rate in (0.01, 0.05, 0.2, 0.5):
        step = detector(false_alarm_rate=rate).fit(start).step(news)
        flags.append(step.novel)
    for fewer, more in pairwise(flags):
        assert not np.any(fewer & ~more)
    assert flags[0].sum() < flags[-1].sum()


def test_p_values_fall_as_scores_rise(start):
    step = detector().fit(start).step(documents(OLD, 100, seed=5)[0])
    order = np.argsort(step.scores)
    assert np.all(np.diff(step.p_values[order]) <= 0)


def test_every_document_of_the_start_calibrates(start):
    """The p-value of the most novel of n + 1 documents is 1 / (n + 1)."""
    (p,) = detector().fit(start).step(["parliament budget minister election"]).p_values
    assert p == pytest.approx(1 / 201)


def test_false_discoveries_are_controlled(start):
    false, flagged = 0, 0
    for seed in range(10):
        news, labels = documents(NEW, 90, seed=40 + seed)
        novel = detector(fdr=0.1).fit(start).step(news).novel
        false += np.sum(novel & (labels != "politics"))
        flagged += novel.sum()
    assert flagged > 200
    assert false <= 0.15 * flagged


def test_documents_without_a_word_are_not_novel(start):
    step = detector().fit(start).step(["", "the", "rain wind"])
    assert not step.novel[:2].any()
    assert step.scores[0] < step.scores[2]


# -------------------------------------------------------------------------------- explanations


def test_explanations_name_unknown_words_and_the_nearest_components(fitted):
    told = fitted.explain(NEWS)
    assert {word for word, _ in told.unexplained[:3]} == {"parliament", "budget", "minister"}
    assert sum(share for _, share in told.unexplained) <= 1 + 1e-9
    assert set(told.nearest[0][0]) <= set(SUBJECTS["weather"] + COMMON)
    known = fitted.explain("rain wind storm snow")
    assert known.score < told.score
    assert known.score == pytest.approx(fitted.novelty_scores(["rain wind storm snow"])[0])
    short = fitted.explain(NEWS, n_words=2, n_atoms=1)
    assert (len(short.unexplained), len(short.nearest)) == (2, 1)


def test_an_orthogonal_dictionary_explains_all_of_a_document(start):
    words = [*documents(["politics"], 6, seed=3)[0], *start[6:]]
    found = detector(40, **MODELS["orthogonal"]).fit(words)
    assert found.components_.shape == (40, len(found.words_))
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(40), atol=1e-9)
    told = found.explain(NEWS, n_atoms=40)
    assert told.score + sum(share for _, share in told.nearest) == pytest.approx(1.0)
    np.testing.assert_array_equal(found.novelty_scores(["hitherto unheard"]), [0.0])


def test_texts_are_kept_only_if_asked_for(start, tmp_path):
    private = "Confidential: rain wind storm"
    for keep in (False, True):
        found = detector(keep_texts=keep).fit([*start, private])
        path = tmp_path / "detector.thresher"
        save(found, path)
        assert (b"Confidential: rain" in path.read_bytes()) == keep
        told = load(path).explain("confidential rain wind storm")
        assert told == found.explain("confidential rain wind storm")
        assert [record.text for record, _ in told.similar[:1]] == ([private] if keep else [])
    assert told.similar[0][0].id == "200"
    assert told.similar[0][1] > 0.99


# ------------------------------------------------------------------- scores of published methods


def least_absolute(x, D, weight=0.1):
    """min over c ≥ 0 of ‖x − cD‖₁ + λ ‖c‖₁, as a linear program."""
    K, F = D.shape
    cost = np.concatenate([np.full(K, weight), np.ones(2 * F)])
    return linprog(cost, A_eq=np.hstack([D.T, np.eye(F), -np.eye(F)]), b_eq=x).fun


def least_squares(x, D, weight=0.1):
    """min over c ≥ 0 of ½‖x − cD‖² + λ ‖c‖₁, as least squares with a shifted right-hand side.

    With DDᵀ = LLᵀ the problem is min ½‖Lᵀc − L⁻¹(Dx − λ)‖² but for a constant.
    """
    L = np.linalg.cholesky(D @ D.T)
    c, _ = nnls(L.T, np.linalg.solve(L, D @ x - weight))
    return ((x - c @ D) ** 2).sum() / 2 + weight * c.sum()


@pytest.mark.parametrize(
    ("mode", "order", "optimum"),
    [("online", 1, least_absolute), ("batch_impl", 1, least_absolute),
     ("l2_batch", 2, least_squares)],
)  # fmt: skip
def test_published_modes_score_by_the_optimum_of_their_objective(mode, order, optimum, start):
    found = detector(4, **MODELS[mode]).fit(start[:120])
    known = documents(OLD, 6, seed=6)[0]
    counts = [count_words(texts, found.words_) for texts in (known, start[:120])]
    rows = tf_idf(*counts)
    rows /= np.linalg.norm(rows, ord=order, axis=1, keepdims=True)
    D = found.components_.astype(float)
    expected = [optimum(x, D) for x in rows]
    np.testing.assert_allclose(found.novelty_scores(known), expected, rtol=2e-3)


@pytest.mark.parametrize("mode", ["batch_impl", "l2_batch"])
def test_batch_modes_grow_by_the_atoms_asked_for(mode, start):
    found = detector(4, n_new_atoms=3, **MODELS[mode]).fit(start[:80])
    assert len(found.components_) == 4
    found.step(documents(NEW, 40, seed=2)[0])
    assert found.components_.shape == (7, len(found.words_))


# ------------------------------------------------------------------- streams, tables and memory


def test_scoring_changes_nothing_and_steps_are_repeatable(start):
    news, _ = documents(NEW, 50, seed=1)
    one, two = detector().fit(start), detector().fit(start)
    scores = one.novelty_scores(news)
    np.testing.assert_array_equal(scores, one.novelty_scores(news))
    alone = np.concatenate([two.novelty_scores([text]) for text in news])
    np.testing.assert_allclose(scores, alone, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(one.step(news).scores, two.step(news).scores)
    np.testing.assert_allclose(one.fit(start).step(news).scores, scores, rtol=1e-6)


def test_texts_series_and_tables_agree(start):
    words = sorted(set(" ".join(start).split()))
    counts = count_words(start, words)
    news, more = documents(OLD, 40, seed=1)[0], sorted(SUBJECTS["politics"])
    expected = detector().fit(start).novelty_scores(news)
    wide = count_words(news, words + more)
    names = [*words, *more]
    for first, later in (
        (pd.Series(start), pd.Series(news)),
        (counts, wide[:, : len(words)]),
        (sparse.csr_array(counts), sparse.csr_array(wide)),
        (pd.DataFrame(counts, columns=words), pd.DataFrame(wide, columns=names)),
    ):
        scores = detector().fit(first).novelty_scores(later)
        np.testing.assert_allclose(scores, expected, rtol=0.05, atol=0.02)
    fewer = detector().fit(counts)
    with pytest.raises(ValueError, match="columns"):
        fewer.step(counts[:, :5])


@pytest.mark.parametrize("kind", ["auto", "kl", "orthogonal"])
def test_the_vocabulary_is_bounded_and_rare_words_leave(kind):
    texts, _ = documents(SUBJECTS, 120)
    odd = [f"{text} oddity{number}abc" for number, text in enumerate(texts)]
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    found = detector(4, max_words=60, vectorizer=vectorizer, **MODELS[kind]).fit(odd[:60])
    found.step(odd[60:])
    assert len(found.words_) <= 60
    if kind != "orthogonal":
        assert set(SUBJECTS["sport"]) < set(found.words_)  # frequent words stay
    assert found.components_.shape[1] == len(found.words_)
    assert np.isfinite(found.step(texts).scores).all()


def test_memory_does_not_grow():
    table = sparse.random_array((400, 500), density=0.04, rng=0, format="csr")
    table.data = np.ceil(table.data * 3)
    found = detector().fit(table)
    for _ in range(6):
        found.step(table)  # as many documents as are ever remembered
    tracemalloc.start()
    used = []
    for _ in range(12):  # the first six replace what was not traced
        found.step(table)
        used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert used[-1] - used[5] < 6 * 8 * 400  # not even the scores


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_saved_detector_continues_with_the_same_bits(options, start, tmp_path):
    found = detector(10, **options).fit(start[:100])
    found.step(documents(["weather", "sport"], 50, seed=1)[0])
    save(found, tmp_path / "detector.thresher")
    again = load(tmp_path / "detector.thresher")
    assert again.words_ == found.words_
    for seed in range(2, 4):
        news, _ = documents(SUBJECTS, 50, seed=seed)
        one, two = found.step(news), again.step(news)
        np.testing.assert_array_equal(one.scores, two.scores)
        np.testing.assert_array_equal(one.novel, two.novel)
        assert one.topics == two.topics
    assert again.explain(NEWS) == found.explain(NEWS)


def dated():
    """Three months of which the last brings a new subject."""
    for month, subjects in ((1, ["weather"]), (2, ["weather"]), (3, ["weather", "sport"])):
        for number, text in enumerate(documents(subjects, 60, seed=month)[0]):
            day = f"2020-{month:02d}-15"
            yield {"text": text, "date": day, "key": f"{month}/{number}", "head": text[:4]}


def as_file(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in dated())
    return path


SOURCES = {
    "iterator": lambda folder: dated(),
    "frame": lambda folder: pd.DataFrame(dated()).assign(
        date=lambda frame: pd.to_datetime(frame.date)
    ),
    "lines": lambda folder: as_file(folder / "news.jsonl"),
    "gzip": lambda folder: str(as_file(folder / "news.jsonl.gz")),
}


@pytest.mark.parametrize("form", SOURCES)
def test_streams_are_watched_by_month(form, tmp_path):
    found = detector()
    fields = {"date_field": "date", "id_field": "key", "title_field": "head"}
    steps = list(found.watch(SOURCES[form](tmp_path), every="month", **fields))
    assert [step.name for step in steps] == ["2020-01-01", "2020-02-01", "2020-03-01"]
    assert [step.start for step in steps] == [True, False, False]
    assert not steps[0].novel.any()
    assert steps[1].novel.mean() < 0.2 < steps[2].novel.mean()
    assert found.n_documents_ == 180
    for record in steps[2].topics[0].records:
        assert record.id == f"3/{record.place}"
        assert record.title == record.text[:4]
        assert record.date[:10] == "2020-03-15"


def test_steps_are_weeks_days_or_numbers_of_documents(start):
    days = ["1998-01-05", "1998-01-05", "1998-01-11", "1998-01-12", "1998-02-01"]
    names = {
        "day": ["1998-01-05", "1998-01-11", "1998-01-12", "1998-02-01"],
        "week": ["1998-01-05", "1998-01-12", "1998-01-26"],
        "month": ["1998-01-01", "1998-02-01"],
    }
    records = [{"text": start[n], "day": day} for n, day in enumerate(days)]
    for every, expected in names.items():
        found = detector().fit(start)
        steps = list(found.watch(records, date_field="day", every=every))
        assert [step.name for step in steps] == expected
        ids = [record.id for step in steps for record in step.records]
        assert ids == ["0", "1", "2", "3", "4"]
    for source in (
        start,
        sparse.csr_array(count_words(start, sorted(set(" ".join(start).split())))),
    ):
        sizes = [len(step.records) for step in detector().watch(source, 80)]
        assert sizes == [80, 80, 40]


def test_a_file_that_grows_is_followed(tmp_path):
    path, texts = tmp_path / "news.jsonl", documents(OLD, 90)[0]
    lines = [json.dumps({"text": text}) for text in texts]
    path.write_text("\n".join(lines[:40]) + "\n" + lines[40][:9])  # ends within a line
    rest = "\n".join([lines[40][9:], *lines[41:]]) + "\n"

    def append():
        with path.open("a") as file:
            file.write(rest)

    steps = detector().watch(path, 30, follow=True)
    assert next(steps).start
    late = threading.Timer(0.3, append)
    late.start()
    assert [record.text for record in next(steps).records] == texts[30:60]
    assert [record.text for record in next(steps).records] == texts[60:]
    late.join()
    steps.close()
    packed = tmp_path / "news.jsonl.gz"
    packed.touch()
    for source in (packed, texts):
        with pytest.raises(ValueError, match="followed"):
            next(detector().watch(source, follow=True))


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("keyword", "options"),
    [
        ("auto", {"mode": "best"}),
        ("n_components", {"n_components": 0}),
        ("false_alarm_rate", {"false_alarm_rate": 1.5}),
        ("fdr", {"fdr": 0}),
        ("CountVectorizer", {"vectorizer": object()}),
        ("score", {"model": 3}),
        ("terms", {**MODELS["orthogonal"], "n_new_atoms": 3}),
        ("terms", {"model": OnlineOrthogonalDictionary(whiten=True, **QUIET)}),
    ],
)
def test_parameters_that_cannot_work_are_refused(keyword, options, start):
    with pytest.raises(ValueError, match=keyword):
        detector(**options).fit(start)


@pytest.mark.parametrize(
    "given", [["", ""], ["the and"], ["same words", "same words"], "rain", [], [None], 7]
)
def test_documents_to_start_from_are_checked(given):
    with pytest.raises(ValueError):
        detector().fit(given)


def test_what_is_refused_changes_nothing(start):
    found, other = detector().fit(start), detector().fit(start)
    for bad in ([None], "rain", [], np.eye(2), ["rain", 5.0], np.full((2, 99), np.nan)):
        for verb in (found.step, found.novelty_scores):
            with pytest.raises(ValueError):
                verb(bad)
    with pytest.raises(ValueError, match="one document"):
        found.explain(["rain wind", "snow"])
    with pytest.raises(ValueError, match="n_words"):
        found.explain("rain", n_words=0)
    with pytest.raises(ValueError, match="one for each"):
        found.step(["rain", "snow"], records=found.step(["rain"]).records)
    other.step(["rain"])
    news = documents(NEW, 30, seed=1)[0]
    np.testing.assert_array_equal(found.step(news).scores, other.step(news).scores)


def test_what_is_not_fitted_is_refused(tmp_path):
    for call in (
        lambda: detector().step(["rain"]),
        lambda: detector().novelty_scores(["rain"]),
        lambda: save(detector(), tmp_path / "none.thresher"),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize(
    ("keyword", "source", "options"),
    [
        ("sort", [{"text": "a", "day": "2024-01-02"}, {"text": "b", "day": "2024-01-01"}],
         {"date_field": "day"}),
        ("when", [{"text": "a", "day": "2024-01-02"}], {"date_field": "when"}),
        ("date", [{"text": "a", "day": "soon"}], {"date_field": "day"}),
        ("day", ["a"], {"date_field": "day"}),
        ("text", [{"words": "a"}], {}),
        ("dates", np.ones((2, 2)), {"date_field": "day"}),
        ("every", ["a"], {"every": "year"}),
        ("size", ["a"], {"size": 0}),
        ("nowhere.jsonl", "nowhere.jsonl", {}),
    ],
)  # fmt: skip
def test_streams_that_cannot_be_watched_are_refused(keyword, source, options, start):
    with pytest.raises((ValueError, FileNotFoundError), match=keyword):
        list(detector().fit(start).watch(source, **options))
