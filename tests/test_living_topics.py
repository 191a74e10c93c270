"""Topics that live: words enter and leave, topics are born, die, merge and split, by tests."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import fisher_exact, hypergeom
from sklearn.decomposition import NMF, MiniBatchNMF
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

import thresher
from thresher import OnlineNMF, TopicModel
from thresher.metrics import factor_match_score, matched_cosines
from thresher.tasks.topics import changes, life
from thresher.tasks.topics.births import unlike
from thresher.tasks.topics.growing import LivingWords, relaid
from thresher.tasks.topics.merging import groups_of, merges
from thresher.tasks.topics.youth import relearned, successors

QUIET = {"random_state": 0, "verbose": 0}


def planted(rng: np.random.Generator, K: int, F: int = 400) -> np.ndarray:
    """Topics with words of their own and some that all have."""
    common = rng.dirichlet(np.full(F, 0.5))
    return np.array([0.7 * rng.dirichlet(np.full(F, 0.05)) + 0.3 * common for _ in range(K)])


def drawn(rng, topics, here, n, mixed=(), length=80) -> sparse.csr_array:
    """Documents of the topics that are here; those of ``mixed`` draw from all of these."""
    rows = []
    for main in rng.choice(here, n):
        shares = np.zeros(len(topics))
        shares[list(mixed) if main in mixed else [main]] = 0.85
        shares /= shares.sum() / 0.85
        shares[here] += 0.15 / len(here)
        rows.append(rng.multinomial(length, shares @ topics))
    return sparse.csr_array(np.array(rows))


def texts_of(counts: sparse.csr_array) -> list[str]:
    """Readable words: letters only, as the default vectoriser wants them."""
    names = ["w" + "".join(chr(97 + int(d)) for d in f"{f:04d}") for f in range(counts.shape[1])]
    return [
        " ".join(word for f, word in enumerate(names) for _ in range(int(row[f])))
        for row in counts.toarray()
    ]


def model(K: int, F: int = 400, **options) -> TopicModel:
    vocabulary = [f"w{f}" for f in range(F)]
    return TopicModel(K, **{"vocabulary": vocabulary, **QUIET, **options})


def watched(kind: str, seed: int, n: int = 120, n_steps: int = 5, at: int = 3):
    """Events of a stream in which one thing happens in step ``at``; and its topics."""
    rng = np.random.default_rng(seed)
    topics = planted(rng, 4)
    found = model({"born": 3, "split": 3}.get(kind, 4), random_state=seed)
    for t in range(n_steps):
        here, mixed = [0, 1, 2, 3], ()
        if (kind == "born" and t < at) or (kind == "died" and t >= at):
            here = [1, 2, 3]
        if (kind == "merged" and t >= at) or (kind == "split" and t < at):
            mixed = (0, 1)
        found.step(drawn(rng, topics, here, n if t else 3 * n, mixed))
    return found, topics


# ---------------------------------------------------------------------------- the tests


def test_chances_are_those_of_fishers_exact_test_and_of_all_odds_up_to_the_sway(monkeypatch):
    monkeypatch.setattr(changes, "SWAY", 1.0)
    table = [[7, 33], [5, 95]]
    told = changes.chance_of_more(7, 40, 5, 100)
    assert told == pytest.approx(fisher_exact(table, "greater").pvalue)
    told = changes.chance_of_fewer(7, 40, 5, 100)
    assert told == pytest.approx(fisher_exact(table, "less").pvalue)
    assert told == pytest.approx(hypergeom.cdf(7, 140, 12, 40))
    monkeypatch.setattr(changes, "SWAY", 2.0)
    assert changes.chance_of_more(7, 40, 5, 100) > fisher_exact(table, "greater").pvalue
    assert changes.chance_of_more(0, 40, 0, 100) == changes.chance_of_fewer(0, 40, 0, 100) == 1


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_deaths_are_told_no_more_often_than_promised_while_odds_halve(factor):
    rng = np.random.default_rng(0)
    odds, told, n_trials = 0.25 / factor, 0, 2000
    for _ in range(n_trials):
        now, before = rng.binomial(60, odds / (1 + odds)), rng.binomial(100, 0.2)
        told += changes.chance_of_fewer(now, 60, before, 100) <= 0.05
    assert told <= n_trials * 0.05 + 3 * np.sqrt(n_trials * 0.05)
    assert told > 0 or factor == 1.0  # not so careful that nothing is ever found


@pytest.mark.parametrize("kind", ["born", "died", "merged", "split"])
def test_what_is_planted_is_found_in_its_step(kind):
    found, topics = watched(kind, seed=1)
    assert [(event.step, event.kind) for event in found.events_] == [("3", kind)]
    event = found.events_[0]
    assert event.p_value <= found.false_alarm_rate
    assert len(found.components_) == {"born": 4, "died": 3, "merged": 3, "split": 4}[kind]
    left = {"died": topics[1:], "merged": np.vstack([topics[:2].mean(axis=0), topics[2:]])}
    # Topics are of weighted words, so that they are not quite those that were planted.
    assert factor_match_score(left.get(kind, topics), found.components_) > 0.75
    assert len(found._life.names) == len(set(found._life.names)) == len(found.components_)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_happens_in_a_shuffled_stream(seed):
    found, _ = watched("nothing", seed)
    assert found.events_ == []


def test_stories_that_begin_together_are_topics_of_their_own():
    rng = np.random.default_rng(1)
    topics, found = planted(rng, 5), model(3, random_state=1)
    for t in range(3):
        found.step(drawn(rng, topics, [0, 1, 2] if t < 2 else [0, 1, 2, 3, 4], 300))
    assert [(event.step, event.kind) for event in found.events_] == [("2", "born")] * 2
    assert factor_match_score(topics, found.components_) > 0.75
    for event in found.events_:  # each has words of one of the two that are new
        best = topics[:, [int(word[1:]) for word in event.words]].sum(axis=1).argmax()
        topics[best] = 0.0
        assert best > 2


def test_documents_are_unlike_what_there_was_if_nine_in_ten_are_explained_better():
    rng = np.random.default_rng(0)
    topics = planted(rng, 3)
    known = model(2, weighting=None).fit(drawn(rng, topics, [0, 1], 200)).model_
    old, same, new = (drawn(rng, topics, here, 200) for here in ([0, 1], [0, 1], [2]))
    assert unlike(known, old, old).sum() == 20
    assert 0.02 < unlike(known, same, old).mean() < 0.25
    assert unlike(known, new, old).all()
    empty = sparse.csr_array((1, 400))
    assert not unlike(known, empty, old).any()


def turning(monkeypatch, strange: bool):
    """A stream with a new story; its documents count as unlike what there was, or they do not."""
    monkeypatch.setattr(life, "unlike", lambda _, now, before: np.full(now.shape[0], strange))
    rng = np.random.default_rng(1)
    topics, found = planted(rng, 3), model(2, random_state=1)
    topics[2] = (topics[0] + topics[2]) / 2  # most like the first
    for t in range(3):
        step = found.step(drawn(rng, topics, [0, 1] if t < 2 else [0, 1, 2], 300))
    return found, topics, step


def test_a_topic_turns_if_documents_have_a_new_subject_and_are_like_what_there_was(monkeypatch):
    found, topics, step = turning(monkeypatch, strange=False)
    assert [(event.step, event.kind) for event in found.events_] == [("2", "turned")]
    (event,) = found.events_
    first = int((found.components_ @ topics[0]).argmax())
    assert event.topics == (step.numbers[first],)
    assert event.names == (step.names[first],)
    new = topics[2] - topics[0]  # the words of the event are those that are new in the topic
    assert new[[int(word[1:]) for word in event.words]].sum() > 0
    assert len(found.components_) == 2


# ---------------------------------------------------------------------------- young streams


def test_successors_keep_the_most_documents():
    before = np.eye(3)[[0, 0, 0, 1, 1, 1, 2, 2]]
    after = np.eye(3)[[2, 2, 2, 0, 0, 1, 1, 0]]
    origin, same = successors(before, after)
    np.testing.assert_array_equal(origin, [1, 2, 0])
    np.testing.assert_array_equal(same, [True, False, True])  # of topic 1, one document of two
    origin, same = successors(before, before)
    np.testing.assert_array_equal(origin, range(3))
    assert same.all()


def test_a_young_stream_starts_anew_when_documents_have_doubled():
    rng = np.random.default_rng(0)
    topics, found = planted(rng, 2, 60), model(2, 60, warm_up=160)
    begun, kept = [], []
    for n in (16, 16, 16, 64, 64, 16):
        found.step(drawn(rng, topics, [0, 1], n))
        begun.append(found._life.n_begun)
        kept.append(None if found._life.young is None else found._life.young.shape[0])
    assert found.events_ == []
    # Three quarters of each step are learned from; what is kept is bounded by ``warm_up``.
    assert begun == [12, 24, 24, 84, 84, 84]
    assert kept == [12, 24, 36, 84, 132, 144]
    found.step(drawn(rng, topics, [0, 1], 64))
    assert found._life.young is None
    assert found._life.n_begun == 192


def test_a_stream_is_no_longer_young_when_something_happens_or_others_taught_it():
    rng = np.random.default_rng(0)
    topics, found = planted(rng, 3, 60), model(2, 60)
    found.step(drawn(rng, topics, [0, 1], 60))
    assert found._life.young is not None
    found.step(drawn(rng, topics, [2], 60))
    assert found.events_
    assert found._life.young is None
    found = model(2, 60)
    found.step(drawn(rng, topics, [0, 1], 60))
    fewer = found.reduce_topics(1)
    assert fewer._life.young is None
    assert len(fewer.step(drawn(rng, topics, [0, 1], 60)).numbers) == 1
    found.partial_fit(drawn(rng, topics, [0, 1], 60))
    assert found._life.young is None


def test_a_new_start_is_taken_if_it_explains_documents_better():
    rng = np.random.default_rng(3)
    topics = planted(rng, 3)
    X = drawn(rng, topics, [0, 1, 2], 150).astype(float)

    def fresh(n):
        assert n == 150
        return OnlineNMF(3, divergence="kl", dictionary_set="simplex", n_starts=4, **QUIET)

    poor = OnlineNMF(3, divergence="kl", dictionary_set="simplex", n_passes=1, **QUIET).fit(X[:9])
    new = relearned(poor, fresh, X)
    assert new.score(X) > poor.score(X)
    assert new.score(X) >= fresh(150).fit(X).score(X)
    assert factor_match_score(topics, new.components_) > 0.8


def test_nothing_happens_while_shares_sway():
    rng = np.random.default_rng(5)
    topics, found = planted(rng, 3), model(3)
    for weights in ([1, 1, 1], [1.4, 0.8, 0.8], [0.8, 1.4, 0.8], [0.8, 0.8, 1.4]):
        here = np.repeat([0, 1, 2], np.round(np.array(weights) * 10).astype(int))
        found.step(drawn(rng, topics, here, 150))
    assert found.events_ == []


def test_names_and_numbers_stay(tmp_path):
    rng = np.random.default_rng(2)
    topics, found, known = planted(rng, 4), model(3, random_state=2), {}
    for t in range(5):
        step = found.step(drawn(rng, topics, [0, 1, 2] if t < 2 else [1, 2, 3], 300))
        for number, name in zip(step.numbers, step.names, strict=True):
            assert known.setdefault(number, name) == name
        assert step.shares.sum() == pytest.approx(1, abs=1e-6)
        assert step.start == (t == 0)
    assert {event.kind for event in found.events_} == {"born", "died"}
    assert len(set(known.values())) == len(known) == 4
    assert [topic.name for topic in found.topics_] == step.names


# ---------------------------------------------------------------------------- words


def test_words_enter_with_a_second_document_and_leave_unused_ones():
    words, counts = LivingWords.none(None, 100).entered(["apple pear", "apple plum"])
    learned = words.learned(counts, np.inf)
    assert dict(zip(learned.words.words, learned.words.in_use, strict=True)) == {
        "apple": True, "pear": False, "plum": False,
    }  # fmt: skip
    words, counts = learned.words.entered(["pear"])
    learned = words.learned(counts, 10.0)
    assert learned.words.in_use[list(learned.words.words).index("pear")]
    table = learned.words.table
    assert table.n_documents == pytest.approx(2 * 2**-0.1 + 1)
    np.testing.assert_allclose(table.frequency[:2], [2 * 2**-0.1, 2**-0.1 + 1])
    words = learned.words
    for _ in range(12):
        entered, counts = words.entered(["apple"])
        words = entered.learned(counts, 10.0).words
    assert "plum" not in words.words  # 2^-1.3
    assert "pear" in words.words
    assert words.in_use.all()


def test_columns_of_words_that_stay_are_the_same_bits():
    X = np.random.default_rng(0).poisson(1.0, (60, 5)).astype(float)
    inner = OnlineNMF(2, divergence="kl", dictionary_set="simplex", **QUIET).partial_fit(
        sparse.csr_array(X)
    )
    before = inner._state
    relaid(inner, np.array([3, -1, 0, 4]))
    after = inner._state
    kept = before.D[:, [0, 3, 4]]  # atoms are rescaled to the simplex
    scale = after.D[:, [2]] / kept[:, [0]]
    np.testing.assert_allclose(after.D[:, [2, 0, 3]], scale * kept, rtol=1e-12)
    np.testing.assert_array_equal(
        after.statistics.N[:, [2, 0, 3]], before.statistics.N[:, [0, 3, 4]]
    )
    np.testing.assert_array_equal(
        after.statistics.margin[[2, 0, 3]], before.statistics.margin[[0, 3, 4]]
    )
    assert not after.statistics.N[:, 1].any()
    assert (after.D[:, 1] > 0).all()
    assert (after.D[:, 1] < 1e-2 * before.D.mean()).all()
    np.testing.assert_array_equal(after.statistics.P, before.statistics.P)
    relaid(inner, np.arange(4))
    assert inner._state is after


def test_a_vocabulary_that_grows_is_bounded_and_finds_new_words():
    rng = np.random.default_rng(0)
    topics = planted(rng, 3)
    found = TopicModel(2, vocabulary="grow", max_words=250, forgetting=500, **QUIET)
    found.partial_fit(texts_of(drawn(rng, topics, [0, 1], 100)))
    old = set(found.words_)
    for _ in range(3):
        found.partial_fit(texts_of(drawn(rng, topics, [0, 1, 2], 100)))
        assert len(found._counter.words) <= 250
        assert found.components_.shape[1] == len(found.words_) == found.model_.n_features_in_
    assert set(found.words_) - old
    frozen = TopicModel(2, vocabulary=sorted(old), **QUIET)
    frozen.partial_fit(texts_of(drawn(rng, topics, [0, 1], 100)))
    assert set(frozen.words_) == old


def test_tables_are_read_by_the_names_of_their_columns():
    rng = np.random.default_rng(0)
    counts = drawn(rng, planted(rng, 2), [0, 1], 100)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(counts.toarray(), columns=[f"w{f}" for f in range(400)])
    found = TopicModel(2, vocabulary="grow", **QUIET).partial_fit(frame)
    np.testing.assert_array_equal(
        found.transform(frame), found.transform(frame[frame.columns[::-1]])
    )
    assert set(found.words_) <= set(frame.columns)


@pytest.mark.parametrize("vocabulary", [None, "fixed"])
def test_a_stream_goes_on_through_steps_of_few_documents(vocabulary):
    rng = np.random.default_rng(3)
    topics = planted(rng, 3)
    texts = texts_of(drawn(rng, topics, [0, 1, 2], 150))
    words = sorted({word for text in texts for word in text.split()})
    found = TopicModel(3, vocabulary=vocabulary and words, **QUIET)
    start = 100
    found.step(texts[:start])
    for n in (1, 2, 3, 4, 5, 1):
        told = found.step(texts[start : start + n])
        assert told.n_documents == n
        assert sum(told.shares) == pytest.approx(1)
        start += n


def test_a_refused_step_changes_nothing():
    rng = np.random.default_rng(0)
    topics = planted(rng, 3)
    found = TopicModel(3, vocabulary="grow", **QUIET)
    found.step(texts_of(drawn(rng, topics, [0, 1, 2], 90)))
    before, words, life = found.components_, list(found.words_), found._life
    for bad in ([], "text", ["some words", None], np.full((2, 3), np.nan)):
        for verb in (found.step, found.partial_fit):
            with pytest.raises(ValueError):
                verb(bad)
    assert found.components_ is before
    assert list(found.words_) == words
    assert found._life is life


@pytest.mark.parametrize("vocabulary", ["grow", None])
def test_a_saved_model_lives_on(vocabulary, tmp_path):
    rng = np.random.default_rng(3)
    topics = planted(rng, 4)
    found = TopicModel(3, vocabulary=vocabulary, random_state=3, verbose=0)
    found.step(texts_of(drawn(rng, topics, [0, 1, 2], 240)))
    found.step(texts_of(drawn(rng, topics, [0, 1, 3], 160)))
    assert {event.kind for event in found.events_} == {"born", "died"}
    thresher.save(found, tmp_path / "topics")
    again = thresher.load(tmp_path / "topics")
    assert again.events_ == found.events_
    more = texts_of(drawn(rng, topics, [0, 1, 2, 3], 120))
    for verb in ("step", "partial_fit"):
        getattr(found, verb)(more)
        getattr(again, verb)(more)
        np.testing.assert_array_equal(again.components_, found.components_)
        assert list(again.words_) == list(found.words_)
    assert again.topics_ == found.topics_
    assert again.events_ == found.events_


def test_a_young_stream_is_saved_young(tmp_path):
    rng = np.random.default_rng(3)
    topics = planted(rng, 3)
    found = TopicModel(3, vocabulary="grow", **QUIET)
    found.step(texts_of(drawn(rng, topics, [0, 1, 2], 60)))
    thresher.save(found, tmp_path / "topics")
    again = thresher.load(tmp_path / "topics")
    more = texts_of(drawn(rng, topics, [0, 1, 2], 60))
    for each in (found, again):
        each.step(more)
        assert each._life.n_begun == 90
    np.testing.assert_array_equal(again.components_, found.components_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weighting": None}, "max_words"),
        ({"n_words": 5}, "max_words"),
        ({"model": MiniBatchNMF(2)}, "cannot make room"),
        ({"forgetting": -1}, "forgetting"),
        ({"max_words": 0}, "max_words"),
        ({"false_alarm_rate": 1.5}, "false_alarm_rate"),
        ({"vectorizer": TfidfTransformer()}, "cannot cut texts"),
    ],
)
def test_what_cannot_grow_is_explained(options, message):
    with pytest.raises(ValueError, match=message):
        TopicModel(2, vocabulary="grow", **QUIET, **options).partial_fit(["a cat", "a cat"])


# ----------------------------------------------------------------------- over time


def test_topics_over_time_by_dates_in_any_order(tmp_path):
    rng = np.random.default_rng(1)
    topics = planted(rng, 3)
    days = np.datetime64("2024-01-01") + np.arange(3) * 7
    counts = [drawn(rng, topics, [0, 1] if t < 2 else [0, 2], 200) for t in range(3)]
    dates, table = np.repeat(days, 200), sparse.vstack(counts, format="csr")
    order = rng.permutation(600)
    over = model(2, random_state=1).topics_over_time(table[order], dates[order], every="week")
    assert [step.name for step in over.steps] == [str(day) for day in days]
    assert over.shares.shape == (3, 3)
    np.testing.assert_allclose(over.shares.sum(axis=1), 1, atol=1e-6)
    assert {event.kind for event in over.events} == {"died", "born"}
    assert over.to_dict()["events"][0]["step"] == str(days[2])
    (axes,) = over.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == over.names
    with pytest.raises(ValueError, match="dates"):
        model(2).topics_over_time(table, dates[:5])


def test_watch_reads_records_by_date():
    rng = np.random.default_rng(0)
    texts = texts_of(drawn(rng, planted(rng, 2), [0, 1], 120))
    records = [{"body": text, "day": f"2024-0{1 + n // 60}-03"} for n, text in enumerate(texts)]
    found = TopicModel(2, vocabulary="grow", **QUIET)
    steps = list(found.watch(records, text="body", date_field="day", every="month"))
    assert [(step.name, step.n_documents, step.start) for step in steps] == [
        ("2024-01-01", 60, True),
        ("2024-02-01", 60, False),
    ]
    assert np.isnan(steps[0].score)
    assert steps[1].score < 0


# ----------------------------------------------------------------------- measures


def test_completion_is_better_for_the_true_topics_and_the_right_number():
    rng = np.random.default_rng(0)
    topics = planted(rng, 4)
    counts, held_out = drawn(rng, topics, [0, 1, 2, 3], 300), drawn(rng, topics, [0, 1, 2, 3], 100)
    four, one = (model(K, weighting=None).fit(counts) for K in (4, 1))
    assert four.score(held_out) > one.score(held_out) + 0.1
    alone = sum(four.score(held_out[i : i + 1]) * held_out[i].sum() for i in range(100))
    assert four.score(held_out) == pytest.approx(alone / held_out.sum())
    flat = model(1, weighting=None).fit(counts)
    flat.components_ = np.full((1, 400), 1 / 400)
    flat._shares_of_weights = lambda weights: np.ones((weights.shape[0], 1))
    assert flat.score(held_out) == pytest.approx(-np.log(400))


def test_stability_tells_planted_topics_from_noise():
    rng = np.random.default_rng(0)
    topics = planted(rng, 3)
    counts = drawn(rng, topics, [0, 1, 2], 300)
    noise = sparse.csr_array(rng.poisson(0.2, (300, 400)))
    sure = model(3).fit(counts).stability(counts, 2)
    assert sure.per_topic.shape == (3,)
    assert sure.mean > 0.9 > model(3).fit(noise).stability(noise, 2).mean


def test_matched_cosines_are_the_terms_of_the_match_score():
    rng = np.random.default_rng(0)
    one, other = rng.random((4, 6)), rng.random((3, 6))
    found = matched_cosines(one, other)
    assert np.count_nonzero(found == 0) == 1
    assert factor_match_score(one, other) == pytest.approx(found.mean())


def test_mergers_lose_the_least_information():
    rng = np.random.default_rng(0)
    atoms, shares = rng.dirichlet(np.ones(6), 5), rng.dirichlet(np.ones(5))

    def information(groups):
        rows = [np.average(atoms[g], axis=0, weights=shares[g]) for g in groups]
        mass = np.array([shares[g].sum() for g in groups])
        whole = mass @ np.array(rows)
        return sum(m * (r * np.log(r / whole)).sum() for m, r in zip(mass, rows, strict=True))

    told = merges(atoms, shares, list("abcde"))
    groups = [[k] for k in range(5)]
    for number, merge in enumerate(told, 1):
        before = information(groups)
        choices = [
            before - information([g for g in groups if g not in (a, b)] + [a + b])
            for a in groups
            for b in groups
            if a < b
        ]
        assert merge.lost == pytest.approx(min(choices))
        groups = groups_of(told, 5, 5 - number)
        assert before - information(groups) == pytest.approx(merge.lost)


def test_fewer_topics_are_as_if_they_had_always_been_one():
    rng = np.random.default_rng(0)
    counts = drawn(rng, planted(rng, 4), [0, 1, 2, 3], 300)
    whole = model(4).fit(counts)
    fewer = whole.reduce_topics(2)
    assert len(whole.components_) == 4
    assert len(fewer.components_) == 2
    groups = groups_of(whole.hierarchy(), 4, 2)
    usage = whole.model_.usage_
    for row, group in zip(fewer.components_, groups, strict=True):
        expected = np.average(whole.components_[group], axis=0, weights=usage[group])
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-9)
    N, all_N = fewer.model_.statistics_.N, whole.model_.statistics_.N
    np.testing.assert_allclose(N, [all_N[group].sum(axis=0) for group in groups])
    assert len(fewer.partial_fit(counts[:50]).topics_) == 2
    with pytest.raises(ValueError, match="from 1 to 4"):
        whole.reduce_topics(5)
    other = MiniBatchNMF(2, init="random", max_iter=500, tol=1e-2)
    with pytest.raises(ValueError, match="cannot merge"):
        model(2, model=other).fit(counts).reduce_topics(1)


def test_atoms_are_joined_or_refused():
    X = np.random.default_rng(0).random((50, 6))
    inner = OnlineNMF(3, **QUIET).fit(X)
    A = inner.statistics_.A
    inner._join_atoms([[2], [0, 1]])
    np.testing.assert_allclose(inner.statistics_.A[1, 1], A[:2, :2].sum())
    np.testing.assert_allclose(inner.statistics_.A[0, 1], A[2, :2].sum())
    inner.partial_fit(X)
    for wrong in ([], [[0, 5]], [[0], [0]], [[0.5]], 7):
        with pytest.raises(ValueError, match="groups must be"):
            inner._join_atoms(wrong)
    with pytest.raises(ValueError, match="frozen_atoms"):
        OnlineNMF(3, frozen_atoms=[0], **QUIET).fit(X)._join_atoms([[0], [1]])


# ------------------------------------------------------------------ from scikit-learn


def test_a_fitted_pipeline_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    texts = texts_of(drawn(rng, planted(rng, 3), [0, 1, 2], 150))
    pipeline = make_pipeline(CountVectorizer(), TfidfTransformer(), NMF(3, init="nndsvda"))
    codes = pipeline.fit_transform(texts)
    found = TopicModel.from_sklearn(pipeline)
    shares = found.transform(texts[:20])
    explained = codes[:20] * pipeline[-1].components_.sum(axis=1)
    np.testing.assert_allclose(shares, explained / explained.sum(axis=1, keepdims=True), atol=1e-3)
    assert list(found.words_) == list(pipeline[0].get_feature_names_out())
    assert np.isfinite(found.coherence(texts).mean)
    again = TopicModel.from_sklearn(make_pipeline(TfidfVectorizer(), NMF(3))).fit(texts)
    assert again.components_.shape[0] == 3


def test_a_fitted_vectoriser_keeps_its_words():
    rng = np.random.default_rng(0)
    texts = texts_of(drawn(rng, planted(rng, 2), [0, 1], 100))
    vectorizer = CountVectorizer(max_features=50).fit(texts)
    found = TopicModel.from_sklearn(vectorizer, n_components=2, **QUIET).fit(texts[:50])
    assert list(found._counter.words) == list(vectorizer.get_feature_names_out())
    with pytest.raises(ValueError, match="vectoriser"):
        TopicModel.from_sklearn(NMF(3))


def test_a_stream_that_begins_without_a_word_is_told_what_to_do():
    model = TopicModel(2, vocabulary="grow", random_state=0, verbose=0)
    with pytest.raises(ValueError, match="no word in the first documents; begin with more"):
        next(iter(model.watch([""] * 20, size=10)))
