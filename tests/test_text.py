"""Documents in their many forms: texts, tables, streams, steps of time, files, growing words."""

import io
import json
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import thresher
from thresher.persistence import Contents, FileError
from thresher.tasks.text import documents, reading, steps, words
from thresher.tasks.text.counts_file import documents_of
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.records import Record, check_records, record_of, records_of
from thresher.tasks.text.tfidf import TfIdf, WordSums, inverse_document_frequency, tf_idf

TEXTS = ["apple pear apple", "pear plum", "plum apple", "grape"]


# ------------------------------------------------------------------------ records


def test_a_record_has_what_its_document_tells():
    told = {"text": "Words here", "id": 7, "title": "T", "when": date(2024, 5, 6), "more": 1}
    assert record_of(told, 3, 9, date_field="when") == Record(
        3, "7", "T", "2024-05-06", "Words here"
    )
    assert record_of("  First line \n second", 3, 9) == Record(
        3, "9", "First line", "", "  First line \n second"
    )
    assert record_of({"text": "x", "id": "", "title": None}, 0, 4) == Record(0, "4", "x", "", "x")
    assert record_of({"id": "a"}, 0, 4) == Record(0, "a", "", "", "")
    other = {"body": "b", "key": "k", "name": "n"}
    found = record_of(other, 1, 2, text="body", id_field="key", title_field="name")
    assert found == Record(1, "k", "n", "", "b")


def test_long_texts_have_a_title_of_whole_words():
    line = "word " * 16  # eighty letters with the last blank
    assert record_of(line.strip(), 0, 0).title == line.strip()
    long = "word " * 16 + "longer"
    assert record_of(long, 0, 0).title == "word " * 15 + "word …"
    assert record_of("x" * 80, 0, 0).title == "x" * 80
    assert record_of("x" * 81, 0, 0).title == "x" * 80 + " …"


def test_records_of_texts_and_of_rows_are_numbered_on():
    assert [(r.place, r.id) for r in records_of(["a", "b"], 5)] == [(0, "5"), (1, "6")]
    assert records_of(np.zeros((2, 3)), 5) == [Record(0, "5"), Record(1, "6")]
    given = [Record(9, "a"), Record(9, "b")]
    assert check_records(given, 2) == [Record(0, "a"), Record(1, "b")]
    with pytest.raises(ValueError, match="3 documents came with 2 records"):
        check_records(given, 3)


# ------------------------------------------------------------------------ documents


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("text", "put brackets around a single one"),
        (b"text", "put brackets"),
        ({"a": "text"}, "such as its values"),
        (5, "not int"),
        (np.array("text"), "not ndarray"),
        ([], "no documents"),
        (["a", None], "Document 1 is None"),
        (["a", "b", 3.5], "Document 2 is 3.5"),
    ],
)
def test_what_are_no_documents(given, says):
    with pytest.raises(ValueError, match=says):
        documents.as_texts(given)
    assert documents.as_texts(("a", b"b")) == ["a", b"b"]


def test_tables_hold_counts():
    assert documents.as_csr([[1, 0]]).toarray().tolist() == [[1, 0]]
    assert documents.is_table(np.zeros((1, 1)))
    assert documents.is_table(sparse.csr_array((1, 1)))
    assert not documents.is_table(["a"])
    assert not documents.is_table(np.array(["a"]))
    with pytest.raises(ValueError, match="no documents"):
        documents.as_csr(np.zeros((0, 3)))
    for bad in (np.array([["a"]]), np.array([[1j]]), [[1, 2], [3]]):
        with pytest.raises(ValueError, match="must hold counts of words"):
            documents.as_csr(bad)


def test_a_stream_is_cut_into_batches_and_quiet_items_are_passed_over():
    def stream():
        yield "a"
        yield ["b", "c", "d"]
        yield []
        yield ["e"]

    cut = list(documents.batches_of_stream(stream(), 2, 3))
    assert cut == [["a", "b", "c"], ["d", "e"]]
    assert list(documents.batches_of_stream(stream, 10, 10)) == [["a", "b", "c", "d", "e"]]
    tables = list(documents.batches_of_stream([np.ones((2, 3)), np.zeros((1, 3))], 2, 2))
    assert [table.shape for table in tables] == [(2, 3), (1, 3)]
    for bad, says in (
        ([["a"], np.ones((1, 2))], "either texts or counts"),
        ([np.ones((1, 2)), ["a"]], "either texts or counts"),
        ([np.ones((1, 2)), np.ones((1, 3))], "the same columns"),
        ([["a", "b"], [None]], "Document 2 is None"),
    ):
        with pytest.raises(ValueError, match=says):
            list(documents.batches_of_stream(bad, 5, 5))


def test_any_documents_are_a_stream_that_is_read_as_often_as_they_can_be():
    for given in (TEXTS, np.arange(8.0).reshape(4, 2)):
        made = documents.stream_of(given, 3)
        assert [len(batch) for batch in made()] == [3, 1]
        assert [len(batch) for batch in made()] == [3, 1]
    once = documents.stream_of(iter([["a", "b"], ["c"]]), 2)
    assert list(once) == [["a", "b"], ["c"]]
    source = thresher.open(np.ones((3, 2)))
    assert documents.stream_of(source, 2) is source
    again = documents.stream_of(lambda: iter([["a", "b", "c"]]), 2)
    assert [list(again()) for _ in range(2)] == [[["a", "b"], ["c"]]] * 2


# ------------------------------------------------------------------------ words


def test_words_of_a_table_are_its_columns_or_are_given():
    frame = pd.DataFrame([[1, 2], [0, 3]], columns=["x", "y"])
    counter, counts = words.learn_words(frame)
    assert counter.words.tolist() == ["x", "y"]
    assert counts.toarray().tolist() == [[1, 2], [0, 3]]
    counter, _ = words.learn_words(frame.to_numpy(), vocabulary={"b": 1, "a": 0})
    assert counter.words.tolist() == ["a", "b"]
    counter, _ = words.learn_words(frame, vocabulary=["p", "q"])
    assert counter.words.tolist() == ["p", "q"]
    with pytest.raises(ValueError, match="needs vocabulary="):
        words.learn_words(frame.to_numpy())
    with pytest.raises(ValueError, match="have 3 columns, but the vocabulary has 2 words"):
        counter.counts(np.ones((1, 3)))
    with pytest.raises(ValueError, match="learned from counts"):
        counter.counts(["text"])


def test_default_words_are_common_lower_case_and_no_stop_words():
    counter, counts = words.learn_words([*TEXTS, "The APPLE and of a12 ab", "unique grape"])
    assert counter.words.tolist() == ["apple", "grape", "pear", "plum"]
    assert counts[[0]].toarray().tolist() == [[2, 0, 1, 0]]
    assert counter.counts(["plum plum other"]).toarray().tolist() == [[0, 0, 0, 2]]
    with pytest.raises(ValueError, match="Document 1 is b'x', not a text"):
        counter.counts(["a", b"x"])
    _, counts = words.learn_words(["the cat the"], vocabulary=["the", "cat"])
    assert counts.toarray().tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["apple pear"], "this is one document"),
        (["12 ab", "of the"], "no word in these 2 documents"),
        (["apple", "pear"], "two"),
    ],
)
def test_documents_without_common_words(texts, says):
    with pytest.raises(ValueError, match=says):
        words.learn_words(texts)


@pytest.mark.parametrize(
    ("vocabulary", "says"),
    [
        ("word", "must be a list of words"),
        (5, "must be a list of words"),
        (iter(["a"]), "must be a list of words"),
        ([], "at least one word"),
        (["a", "a"], "each word once"),
        (["Apple"], "'Apple' of vocabulary= would never be found"),
    ],
)
def test_vocabularies_that_cannot_be_meant(vocabulary, says):
    with pytest.raises(ValueError, match=says):
        words.learn_words(TEXTS, vocabulary=vocabulary)


class Odd:
    """A vectoriser with a fault."""

    def __init__(self, rows=0, columns=0, names=2):
        self.rows, self.columns, self.names = rows, columns, names

    def fit_transform(self, texts):
        return np.ones((len(texts) + self.rows, 2))

    def transform(self, texts):
        return np.ones((len(texts), 2 + self.columns))

    def get_feature_names_out(self):
        return ["a", "b", "c"][: self.names]


def test_vectorisers_that_do_not_do():
    for vectorizer, says in (
        (CountVectorizer, "is a class; add brackets"),
        (5, "cannot count words"),
        (HashingVectorizer(n_features=8), "does not know the words"),
        (Odd(rows=1), "made 5 rows of 4 documents"),
        (Odd(names=3), "counts 2 words but names 3"),
        (CountVectorizer(min_df=9), "could not count the words of these 4 documents"),
    ):
        with pytest.raises(ValueError, match=says):
            words.learn_words(TEXTS, vectorizer)
    with pytest.raises(ValueError, match="not both"):
        words.learn_words(TEXTS, CountVectorizer(), ["a"])
    counter, _ = words.learn_words(TEXTS, Odd(columns=1))
    with pytest.raises(ValueError, match="counts 3 words in these documents, but 2"):
        counter.counts(TEXTS)
    own = CountVectorizer()
    counter, _ = words.learn_words(TEXTS, own)
    assert not hasattr(own, "vocabulary_")  # a copy is fitted
    assert counter.vectorizer is not own


# ------------------------------------------------------------------------ growing words


def grown():
    some = GrowingWords(CountVectorizer())
    counts, new = some.counts(TEXTS)
    some.enter(new)
    some.learn(counts)
    return some, counts


def test_new_words_have_columns_after_those_that_are_known():
    some, counts = grown()
    assert some.words == ["apple", "pear", "plum", "grape"]
    assert counts.toarray().tolist() == [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert some.frequency.tolist() == [2, 2, 2, 1]
    assert some.n_documents == 4
    more, new = some.counts(["plum kiwi", "kiwi fig"])
    assert new == ["kiwi", "fig"]
    assert more.toarray().tolist() == [[0, 0, 1, 0, 1, 0], [0, 0, 0, 0, 1, 1]]
    assert more.has_sorted_indices
    with pytest.raises(ValueError, match="Document 1 is"):
        some.counts(["a", b"b"])


def test_weights_are_those_of_the_stream_so_far():
    some, _ = grown()
    more, _ = some.counts(["plum plum kiwi apple"])
    kept = more.copy()
    found = some.weights(more).toarray()[0]
    idf = np.log(4 / np.array([2, 2, 2, 1.0]))
    expected = [idf[0], 0, (1 + np.log(2)) * idf[2], 0, np.log(5)]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(more.toarray(), kept.toarray())
    for bad in ([[-1.0]], [[np.inf]], [[np.nan]]):
        with pytest.raises(ValueError, match="0 or more, finite"):
            GrowingWords().weights(sparse.csr_array(bad))


def test_tables_grow_by_columns():
    some, _ = grown()
    _, new = some.counts(np.ones((2, 6)))
    assert new == ["4", "5"]
    frame = pd.DataFrame(np.ones((1, 5)), columns=[*some.words, "kiwi"])
    assert some.counts(frame)[1] == ["kiwi"]
    with pytest.raises(ValueError, match="have 3 columns, but 4 words are known"):
        some.counts(np.ones((2, 3)))


def test_the_rarest_words_leave_a_tenth_at_a_time():
    some = GrowingWords(max_words=10)
    some.enter([f"w{k}" for k in range(10)])
    assert some.rarest() is None
    some.enter(["w10", "w11"])
    some.frequency = np.array([5.0, 1, 1, 5, 5, 5, 5, 5, 5, 5, 1, 5])
    left = some.rarest()
    assert left.tolist() == [0, 3, 4, 5, 6, 7, 8, 9, 11]  # nine; of the rarest none is left
    some.keep(left)
    assert some.words[1] == "w3"
    assert len(some.frequency) == 9
    assert some.counts(["w1 w3"])[1] == []  # digits are no words of the default
    alone = GrowingWords(max_words=1)
    alone.enter(["a", "b"])
    assert alone.rarest().tolist() == [1]


def test_a_copy_learns_alone():
    some, _ = grown()
    other = some.copy(CountVectorizer())
    other.enter(["kiwi"])
    other.learn(sparse.csr_array(np.ones((2, 5))))
    assert (len(some.words), len(other.words)) == (4, 5)
    assert some.n_documents == 4
    assert some.counts(["kiwi"])[1] == ["kiwi"]
    assert other.counts(["kiwi"])[1] == []
    for bad in (CountVectorizer, object()):
        with pytest.raises(ValueError, match="cannot cut texts into words"):
            GrowingWords(bad)


# ------------------------------------------------------------------------ steps


def test_steps_by_size():
    found = list(steps.document_steps(iter("abcde"), 2))
    assert [(step.name, step.documents) for step in found] == [
        ("0", ["a", "b"]), ("1", ["c", "d"]), ("2", ["e"]),
    ]  # fmt: skip
    assert [r.id for step in found for r in step.records] == ["0", "1", "2", "3", "4"]
    assert [r.place for step in found for r in step.records] == [0, 1, 0, 1, 0]
    table = np.arange(10).reshape(5, 2)
    found = list(steps.document_steps(table, 2))
    assert [step.name for step in found] == ["0", "1", "2"]
    np.testing.assert_array_equal(np.concatenate([s.documents for s in found]), table)
    assert [r.id for step in found for r in step.records] == list("01234")
    frame = pd.DataFrame(table, columns=["x", "y"])
    assert [len(step.documents) for step in steps.document_steps(frame, 4)] == [4, 1]


def dated(*days):
    return [{"text": f"t{k}", "on": day} for k, day in enumerate(days)]


@pytest.mark.parametrize("every", ["day", "week", "month"])
def test_the_period_of_a_date_is_its_first_day(every):
    for offset in range(0, 800, 13):
        day = date(2023, 1, 1) + timedelta(days=offset)
        first = {
            "day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1),
        }[every]  # fmt: skip
        for given in (
            day,
            day.isoformat(),
            datetime(day.year, day.month, day.day, 23),
            np.datetime64(day),
        ):
            assert steps._period(given, every) == first.isoformat()
    assert steps._period("1969-12-31", "week") == "1969-12-29"
    assert steps.periods(["2024-01-01", "2024-02-05"], 2, "month").tolist() == [
        "2024-01-01",
        "2024-02-01",
    ]
    with pytest.raises(ValueError, match="3 documents came with 2 dates"):
        steps.periods(["2024-01-01"] * 2, 3, every)
    with pytest.raises(ValueError, match="'soon' is not a date"):
        steps._period("soon", every)
    with pytest.raises(ValueError, match="every='year' is not known"):
        steps.periods([], 0, "year")


def test_steps_by_date():
    given = dated("2024-01-01", "2024-01-01T05:00", "2024-01-03")
    found = list(steps.document_steps(given, 1, date_field="on"))
    assert [(step.name, step.documents) for step in found] == [
        ("2024-01-01", ["t0", "t1"]), ("2024-01-03", ["t2"]),
    ]  # fmt: skip
    assert found[1].records[0] == Record(0, "2", "t2", "2024-01-03", "t2")
    for source, how, says in (
        (
            dated("2024-01-02", "2024-01-01"),
            {"date_field": "on"},
            "2024-01-01 came after 2024-01-02",
        ),
        (dated("2024-01-02"), {"date_field": "when"}, "no field 'when', only text, on"),
        (["a"], {"date_field": "on"}, "without fields has no 'on'"),
        ([{"words": "a"}], {}, "no field 'text', only words"),
        (np.ones((2, 2)), {"date_field": "on"}, "has no dates"),
        (["a"], {"every": "year"}, "every='year' is not known"),
        (["a"], {"follow": True}, "Only a file can be followed"),
        (["a"], {"size": 0}, "size"),
        ("nothing.jsonl", {}, "There is no file nothing.jsonl"),
    ):
        with pytest.raises(ValueError, match=says):
            list(steps.document_steps(source, **how))


def test_steps_of_frames_and_files(tmp_path):
    frame = pd.DataFrame({"text": ["a", "b", "c"], "id": [7, 8, 9]})
    found = list(steps.document_steps(frame, 2))
    assert [step.documents for step in found] == [["a", "b"], ["c"]]
    assert [r.id for step in found for r in step.records] == ["7", "8", "9"]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in dated("2024-01-01", "2024-01-02")))
    assert len(list(steps.document_steps(path, date_field="on"))) == 2
    assert len(list(steps.document_steps(str(path), date_field="on", every="month"))) == 1


# ------------------------------------------------------------------------ files


def test_documents_of_files_and_folders(tmp_path, monkeypatch):
    (tmp_path / "b.txt").write_text("two words\n\n  more \n")
    assert list(reading.read_documents(str(tmp_path / "b.txt"))) == ["two words", "more"]
    (tmp_path / "a.MD").write_text("first\nfile")
    (tmp_path / "c.csv").write_text("1,2")
    assert list(reading.read_documents(str(tmp_path))) == ["first\nfile", "two words\n\n  more \n"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no text files"):
        reading.read_documents(str(tmp_path / "empty"))
    with pytest.raises(FileNotFoundError, match="slip in its name"):
        reading.read_documents(str(tmp_path / "nothing.txt"))
    for text, expected in (
        (b' {"text": "a"}\n{"text": "b"}\n', [{"text": "a"}, {"text": "b"}]),
        (b"plain {\nlines\n", ["plain {", "lines"]),
        (b"", []),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert list(reading.read_documents("-")) == expected


def test_whether_a_path_has_documents(tmp_path):
    def lines(name, *records):
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, records)))
        return str(path)

    assert reading.has_documents(lines("a.jsonl", {"t": "x" * 30, "n": "y"}, {"t": "x" * 12}))
    assert not reading.has_documents(lines("b.jsonl", {"t": "x" * 20}, {"t": "x" * 20}))
    assert not reading.has_documents(lines("c.jsonl", {"n": 5}))
    assert not reading.has_documents(str(tmp_path / "none.jsonl"))
    assert not reading.has_documents(str(tmp_path / "none.txt"))
    assert not reading.has_documents(lines("d.csv", {"t": "x" * 50}))
    (tmp_path / "e.txt").write_text("x")
    assert reading.has_documents(str(tmp_path / "e.txt"))
    assert reading.has_documents(str(tmp_path))


def test_the_text_is_in_the_field_of_most_letters():
    given = [{"id": "abc", "body": "long words", "n": 5}, {"id": "a" * 20, "body": "b" * 30}]
    field, again = reading.text_field(iter(given))
    assert field == "body"
    assert list(again) == given
    assert reading.text_field(iter(["a"]))[0] is None
    assert list(reading.texts_of(iter([*given, "plain"]), "body")) == [
        "long words",
        "b" * 30,
        "plain",
    ]
    with pytest.raises(ValueError, match="Document 2 has no text in its field 'body'"):
        list(reading.texts_of(iter([given[0], {"id": "x"}]), "body"))


def test_tables_in_files():
    from thresher.estimators.parts import packed_value

    def read(table):
        arrays = {}
        document = {"documents": packed_value("documents", table, arrays)}
        return documents_of(Contents(arrays, document, "a.thr"), "documents", 3)

    table = sparse.csr_array(np.eye(3))
    np.testing.assert_array_equal(read(table).toarray(), np.eye(3))
    assert documents_of(Contents({}, {}, "a.thr"), "documents", 3) is None
    with pytest.raises(FileError, match="no table of 3 words"):
        read(sparse.csr_array(np.eye(4)))
    for bad in (-np.eye(3), np.full((3, 3), np.inf)):
        with pytest.raises(FileError, match="weights that no word has"):
            read(sparse.csr_array(bad))


# ------------------------------------------------------------------------ weights


def test_sums_over_documents_add_up():
    counts = sparse.csr_array(np.array([[1.0, 2, 0], [3, 0, 0], [1, 1, 0]]))
    whole = WordSums.of(counts)
    assert whole.n_documents == 3
    assert whole.frequency.tolist() == [3, 2, 0]
    np.testing.assert_allclose(whole.damped, [2 + 1 + np.log(3), 2 + np.log(2), 0])
    both = WordSums.of(counts[[0]]) + WordSums.of(counts[[1, 2]])
    assert both.n_documents == 3
    np.testing.assert_allclose(both.damped, whole.damped)
    np.testing.assert_allclose(both.frequency, whole.frequency)
    np.testing.assert_allclose(
        inverse_document_frequency(3, whole.frequency), [0, np.log(1.5), np.log(4)]
    )
    assert inverse_document_frequency(0, np.zeros(1))[0] == pytest.approx(np.log(2))
    weighted = tf_idf(counts, np.array([0.0, 1.0, 1.0]))
    assert weighted.nnz == 2  # words that all documents have weigh nothing


def test_one_that_was_counted_elsewhere_weighs_as_if_here():
    counts = sparse.csr_array(np.array([[1.0, 2, 0], [3, 0, 1], [1, 1, 0]]))
    here = TfIdf(n_words=2).fit(counts)
    sums = TfIdf(n_words=2).fit_sums(WordSums.of(counts))
    known = TfIdf.known(3, here.document_frequency_, here.selected_)
    for other in (sums, known):
        np.testing.assert_array_equal(
            other.transform(counts).toarray(), here.transform(counts).toarray()
        )
        assert other.n_features_in_ == 3
    assert here.get_feature_names_out().tolist() == [f"x{k}" for k in here.selected_]
    assert here.get_feature_names_out(["a", "b", "c"]).tolist() == [
        "abc"[k] for k in here.selected_
    ]
