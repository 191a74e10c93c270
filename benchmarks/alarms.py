"""Alarms of new documents: whether they mean what they say, and what they find.

Streams of real documents in which it is known what is new: a document whose topic has not occurred
before its step. `NovelDocumentDetector` at the default rate of .05, and, for each stream:

- how many of the documents that are *not* new are marked, over the stream, and in how many steps
  more than the 99 % bound of a binomial of that rate;
- how many of the new ones are marked; and how many by the score of the nearest direction alone and
  by the distance of the nearest of *all* documents before, each with the one threshold for the
  whole stream that gives it as many false alarms as the detector really has;
- areas under the ROC curve, mean over steps and pooled; of p-values too, which can be compared
  between steps, while scores are in units of the documents before each;
- groups of documents that are new together: the share of the new documents in them, and of others.

TDT2 comes in the order of time, in steps of 1000 and 100 documents, weeks and days. BBC News and 20
Newsgroups have no dates: they are shuffled (nothing is new after the first step), or topics enter
one after the other. Constants were looked at on TDT2 in steps of 1000, 100 and weeks, and on seed
0 of the others; ``--seed`` draws other orders, and days of TDT2 were kept back.

An archive of one's own is a file of JSON lines, in their order, with a text and a label each.

    python benchmarks/alarms.py [--data FOLDER] [--seed 1] [--only bbc]
    python benchmarks/alarms.py --archive news.jsonl --size 100
"""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, Row, clock, command_line, find_data_file, machine, read_json, write_json
from scipy import sparse
from scipy.stats import binom
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from thresher import NovelDocumentDetector
from thresher.linalg import Array

RATE = 0.05
Step = tuple[Any, Array]


def loaded(name: str) -> tuple[Any, Array, Any]:
    """Counts, topics, and the rest of a file."""
    with np.load(find_data_file(name), allow_pickle=False) as z:
        parts = (z["data"].astype(np.float64), z["indices"], z["indptr"])
        X = sparse.csr_array(parts, shape=tuple(z["shape"]))
        kept = np.flatnonzero(np.diff(X.indptr) > 0)
        return X[kept], z["label"][kept].astype(int), z["date"] if "date" in z.files else None


def cut(X: Any, labels: Array, of: Array) -> list[Step]:
    """Steps of documents that have the same number."""
    ends = np.flatnonzero(np.diff(of)) + 1
    bounds = [0, *ends.tolist(), len(of)]
    return [(X[a:b], labels[a:b]) for a, b in pairwise(bounds)]


def tdt2(how: str) -> list[Step]:
    """In the order of time; the first week starts the days."""
    X, labels, date = loaded("tdt2_top30_dated.npz")
    X = X[:, np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= 2)]
    day = date.astype("datetime64[D]").astype(int)
    by = {"week": (day + 3) // 7, "day": np.where(day < day[0] + 7, day[0], day)}
    return cut(X, labels, by[how] if how in by else np.arange(len(labels)) // int(how))


def without_dates(name: str, how: str, size: int, seed: int) -> list[Step]:
    """Shuffled; or two of five topics enter, one after the other, and then stay; or one topic."""
    X, labels, _ = loaded(name)
    rng = np.random.default_rng(seed)
    n_topics = labels.max() + 1
    if how == "one":
        order = rng.permutation(np.flatnonzero(labels == rng.integers(n_topics)))
    elif how == "enter":
        late = rng.permutation(n_topics)[n_topics * 3 // 5 :]
        start = np.zeros(n_topics)
        start[late] = 0.15 + 0.7 * (np.arange(len(late)) + 0.5) / len(late)
        order = np.argsort(rng.uniform(start[labels], 1))
    else:
        order = rng.permutation(len(labels))
    return cut(X[order], labels[order], np.arange(len(order)) // size)


def archive(path: Path, size: int) -> list[Step]:
    """Counts of the words of texts."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    X = CountVectorizer().fit_transform([line["text"] for line in lines]).astype(np.float64)
    labels = np.unique([line["label"] for line in lines], return_inverse=True)[1]
    return cut(X, labels, np.arange(len(lines)) // size)


def streams(seed: int) -> dict[str, Callable[[], list[Step]]]:
    bbc, groups = "bbc_news.npz", "20newsgroups_counts.npz"
    return {
        "TDT2, 1000": lambda: tdt2("1000"),
        "TDT2, 100": lambda: tdt2("100"),
        "TDT2, weeks": lambda: tdt2("week"),
        "TDT2, days": lambda: tdt2("day"),
        "BBC shuffled, 100": lambda: without_dates(bbc, "shuffled", 100, seed),
        "BBC one topic, 100": lambda: without_dates(bbc, "one", 100, seed),
        "BBC one topic, 20": lambda: without_dates(bbc, "one", 20, seed),
        "BBC entering, 100": lambda: without_dates(bbc, "enter", 100, seed),
        "BBC entering, 30": lambda: without_dates(bbc, "enter", 30, seed),
        "20 Newsgroups shuffled, 500": lambda: without_dates(groups, "shuffled", 500, seed),
        "20 Newsgroups entering, 500": lambda: without_dates(groups, "enter", 500, seed),
    }


def found_at(scores: list[Array], new: list[Array], rate: float) -> float:
    """Share of new documents above the threshold that as many of the others are above."""
    everything, truth = np.concatenate(scores), np.concatenate(new)
    return float(np.mean(everything[truth] > np.quantile(everything[~truth], 1 - rate)))


def areas(scores: list[Array], new: list[Array]) -> list[float]:
    each = [
        roc_auc_score(t, s) for s, t in zip(scores, new, strict=True) if t.any() and not t.all()
    ]
    pooled = roc_auc_score(np.concatenate(new), np.concatenate(scores))
    return [float(np.mean(each)), float(pooled)]


def judged(steps: list[Step]) -> Row:
    """All that is asked of a stream."""
    seen, new = set(steps[0][1].tolist()), []
    for _, labels in steps[1:]:
        new.append(~np.isin(labels, list(seen)))
        seen |= set(labels.tolist())
    detector = NovelDocumentDetector(false_alarm_rate=RATE, random_state=0, verbose=0)
    detector.fit(steps[0][0])
    found, direction, neighbour, before = [], [], [], steps[0][0]
    seconds = 0.0
    for X, _ in steps[1:]:
        words, memory = detector._words, detector._memory
        direction.append(memory.scores(words.weights(X)))
        near = normalize(words.weights(X)) @ normalize(words.weights(before)).T
        neighbour.append(1 - np.asarray(near.max(axis=1).todense()).ravel())
        before = sparse.vstack([before, X], format="csr")
        with clock() as spent:
            found.append(detector.step(X))
        seconds += spent.processor
    old = [~t for t in new]

    def share(of: list[Array], among: list[Array]) -> float:
        return float(np.mean(np.concatenate([o[a] for o, a in zip(of, among, strict=True)])))

    marks = [step.novel for step in found]
    bounds = [binom.ppf(0.99, o.sum(), RATE) for o in old]
    over = sum(bool(m[o].sum() > b) for m, o, b in zip(marks, old, bounds, strict=True))
    grouped = []
    for step in found:
        places = {place for topic in step.topics for place in topic.documents}
        grouped.append(np.isin(np.arange(len(step.novel)), list(places)))
    row: Row = {
        "false alarms": share(marks, old),
        "steps over their bound": [over, len(found)],
        "steps that differ as a whole": sum(step.shift > 0 for step in found),
        "documents a second": sum(map(len, marks)) / seconds,
        "others in groups": share(grouped, old),
    }
    if any(t.any() for t in new):
        actual = row["false alarms"]
        row |= {
            "new": int(sum(t.sum() for t in new)),
            "found": share(marks, new),
            "found by directions, same rate": found_at(direction, new, actual),
            "found by the nearest, same rate": found_at(neighbour, new, actual),
            "areas": areas([step.scores for step in found], new),
            "areas, p-values": areas([-step.p_values for step in found], new),
            "areas, directions": areas(direction, new),
            "areas, nearest": areas(neighbour, new),
            "new in groups": share(grouped, new),
        }
    return row


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="streams whose name contains this")
    parser.add_argument("--archive", type=Path, help="a file of JSON lines, instead of all these")
    parser.add_argument("--size", type=int, default=100, help="documents in a step of it")
    parser.add_argument("--out", type=Path, default=RESULTS / "alarms.json")
    given = parser.parse_args()
    rows = read_json(given.out).get("streams", {}) if given.out.exists() else {}
    asked = streams(given.seed)
    if given.archive is not None:
        name = f"{given.archive.stem}, {given.size}"
        asked = {name: lambda: archive(given.archive, given.size)}
    for name, make in asked.items():
        if given.only.lower() not in name.lower():
            continue
        rows[name] = row = judged(make()) | {"seed": given.seed}
        told = {
            key: np.round(value, 3).tolist() if key != "seed" else value
            for key, value in row.items()
        }
        print(name, told, flush=True)
        write_json(given.out, {"machine": machine(), "rate": RATE, "streams": rows})


if __name__ == "__main__":
    main()
