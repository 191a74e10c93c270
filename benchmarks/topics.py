"""Topics that live: planted births, mergers and deaths, and labels that come and go.

    python benchmarks/topics.py --data FOLDER [--quick]

BBC News: five categories, steps of 150 documents. In step 3 entertainment begins, from step 5 on
documents of business and politics are drawn mixed, half of the words of each, and from step 7 on
there is no sport. The same documents in random order, to see that nothing is told. TDT2 by weeks,
which has no words but labels: an event is right if the label of its topic begins (or ends) then, a
week before or a week after. Coherence and purity of topics that were followed, of `partial_fit`
with a fixed vocabulary, and of one `fit`, on documents that none of them has seen.
"""

import gzip
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
from common import RESULTS, command_line, data_folder, machine, read_json, write_json
from scipy import sparse

from thresher import TopicModel
from thresher.metrics import purity
from thresher.tasks.topics.changes import chance_of_fewer  # the test itself: not public

SIZE, STEPS, FIRST = 150, 9, 400
PLANTED = {"born": 3, "merged": 5, "died": 7}
CATEGORIES = ("business", "politics", "sport", "tech", "entertainment")
ENOUGH = 10  # documents of a label in a week, from which on it has begun


def bbc() -> dict[str, list[str]]:
    """Texts by category."""
    with gzip.open(data_folder() / "bbc_news.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    return {c: [r["text"] for r in records if r["label"] == c] for c in CATEGORIES}


def mixed(rng, first: str, second: str) -> str:
    """About half of the words of each."""
    parts = [text.split() for text in (first, second)]
    n = min(map(len, parts))
    k = int(rng.uniform(0.35, 0.65) * n)
    chosen = [rng.choice(part, m, replace=False) for part, m in zip(parts, (k, n - k), strict=True)]
    return " ".join(np.concatenate(chosen))


def scripted(texts, rng):
    """Documents and categories of every step, with all that is planted."""
    left = {c: list(rng.permutation(texts[c])) for c in CATEGORIES}

    def one(category: str) -> str:
        left[category] = left[category] or list(rng.permutation(texts[category]))
        return str(left[category].pop())

    for step in range(STEPS):
        here = [c for c in CATEGORIES if c != "entertainment" or step >= PLANTED["born"]]
        here = [c for c in here if c != "sport" or step < PLANTED["died"]]
        labels = rng.choice(here, SIZE if step else FIRST)
        pair = CATEGORIES[:2] if step >= PLANTED["merged"] else ()
        yield [mixed(rng, *map(one, pair)) if c in pair else one(c) for c in labels], labels


def shuffled(texts, rng):
    """All documents in random order, in steps."""
    labels = np.concatenate([[c] * len(texts[c]) for c in CATEGORIES])
    documents = [text for c in CATEGORIES for text in texts[c]]
    order = rng.permutation(len(documents))
    cuts = [0, *range(FIRST, len(order) - SIZE, SIZE)]
    for start, stop in pairwise(cuts):
        rows = order[start:stop]
        yield [documents[i] for i in rows], labels[rows]


def followed(steps, K: int, seed: int):
    """The model, and all events, as (step, kind, words)."""
    model = TopicModel(K, vocabulary="grow", random_state=seed, verbose=0)
    found = [model.step(documents) for documents, _ in steps]
    events = [e for step in found for e in step.events]
    return model, [(int(e.step), e.kind, e.words[:4], e.p_value) for e in events]


def planted_rows(texts, seeds):
    """What was planted, in which step it was found, and what else was told."""
    for seed in seeds:
        _, events = followed(scripted(texts, np.random.default_rng(seed)), 4, seed)
        row = {"data": "bbc", "seed": seed, "events": events}
        for kind, at in PLANTED.items():
            late = [e[0] - at for e in events if e[1] == kind and 0 <= e[0] - at <= 1]
            row[kind] = late[0] if late else None
        row["others"] = len(events) - sum(row[kind] is not None for kind in PLANTED)
        print(row, flush=True)
        yield row


def quality_rows(texts, seeds):
    """Events in random order; coherence and purity beside those of a fixed vocabulary."""
    for seed in seeds:
        steps = list(shuffled(texts, np.random.default_rng(seed)))
        test, labels = map(np.concatenate, zip(*steps[-2:], strict=True))
        test, steps = list(test), steps[:-2]
        living, events = followed(steps, 5, seed)
        fixed = TopicModel(5, random_state=seed, verbose=0)
        fixed.fit(steps[0][0])
        for documents, _ in steps[1:]:
            for start in range(0, len(documents), 64):
                fixed.partial_fit(documents[start : start + 64])
        whole = TopicModel(5, random_state=seed, verbose=0).fit([d for s, _ in steps for d in s])
        for name, model in (("followed", living), ("partial_fit", fixed), ("fit", whole)):
            row = {
                "data": "bbc, random order", "seed": seed, "model": name,
                "words": len(model.words_),
                "coherence": round(model.coherence(test).mean, 3),
                "purity": round(purity(labels, model.transform(test).argmax(axis=1)), 3),
                "events": len(events) if name == "followed" else None,
            }  # fmt: skip
            print(row, flush=True)
            yield row


def told_by_labels(table, ends: dict[int, int]) -> dict[str, int]:
    """What deaths would be told were the labels topics: the least that any window before tells.

    All documents of the weeks before are known, one week or more, and the p-value is multiplied
    with the number of labels and of windows.
    """

    def least(k: int, w: int) -> float:
        windows = [(table[w - j : w, k].sum(), table[w - j : w].sum()) for j in range(1, w + 1)]
        n, now = table[w].sum(), table[w, k]
        chances = [chance_of_fewer(int(now), int(n), int(x), int(m)) for x, m in windows]
        return min(chances) * table.shape[1] * len(windows)

    level = 0.05 / 5  # as `TopicModel` has it by default
    weeks = range(2, len(table))
    told = [(k, w) for k in range(table.shape[1]) for w in weeks if least(k, w) <= level]
    right = {k for k, w in told if k in ends and abs(w - ends[k]) <= 1}
    false = [k for k, w in told if table[w + 1 :, k].sum() > ENOUGH]
    return {"ends_told_by_labels": len(right), "false_ends_told_by_labels": len(false)}


def tdt2_rows(seed: int, K: int):
    """Births and deaths beside the labels."""
    with np.load(data_folder() / "tdt2_top30_dated.npz") as z:
        counts = sparse.csr_array(
            (z["data"].astype(float), z["indices"], z["indptr"]), shape=tuple(z["shape"])
        )
        label, week = z["label"], (z["date"] - z["date"][0]).astype(int) // 7
    table = np.array([np.bincount(label[week == w], minlength=30) for w in range(week.max() + 1)])
    model = TopicModel(K, vocabulary="grow", max_words=40_000, random_state=seed, verbose=0)
    owner, rows = {}, []
    for w in range(len(table)):
        some = counts[week == w]
        step = model.step(some, str(w))
        main = model.transform(some).argmax(axis=1)
        for place, number in enumerate(step.numbers):
            about = label[week == w][main == place]
            if len(about) > 2:
                owner[number] = Counter(about.tolist()).most_common(1)[0]
        for event in step.events:
            owned = owner.get(event.topics[-1], (-1, 0))[0]
            near = table[max(0, w - 2) : w + 3, owned].tolist() if owned >= 0 else []
            rows.append({"step": w, "kind": event.kind, "label": int(owned), "weeks_around": near,
                         "p_value": event.p_value})  # fmt: skip
            print(rows[-1], flush=True)
            yield rows[-1]
    begins = {k: int(np.argmax(table[:, k] >= ENOUGH)) for k in range(30)}
    begins = {k: w for k, w in begins.items() if w > 1 and table[: w - 1, k].sum() <= ENOUGH // 2}
    ends = {k: int(len(table) - np.argmax(table[::-1, k] >= ENOUGH)) for k in range(30)}
    few = {k: table[w + 1 :, k].sum() <= ENOUGH // 2 for k, w in ends.items()}
    ends = {k: w for k, w in ends.items() if 1 < w < len(table) - 1 and few[k]}

    def met(kind: str, truth: dict[int, int]) -> list[int]:
        return [
            k for k, w in truth.items()
            if any(r["kind"] == kind and r["label"] == k and abs(r["step"] - w) <= 1 for r in rows)
        ]  # fmt: skip

    births = [r for r in rows if r["kind"] == "born"]
    known = [r for r in births if table[: max(r["step"] - 1, 0), r["label"]].sum() > ENOUGH // 2]
    summary = {
        "data": "tdt2, weeks", "topics_at_first": K, "topics_at_last": len(model.components_),
        "labels_that_begin": begins, "begin_found": met("born", begins),
        "births_of_known_labels": len(known), **told_by_labels(table, ends),
        "labels_that_end": ends, "end_found": met("died", ends),
        "events": Counter(row["kind"] for row in rows),
    }  # fmt: skip
    print(summary, flush=True)
    yield summary


def main() -> None:
    """Run it all, and write the results."""
    parser = command_line(__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, no TDT2")
    parser.add_argument("--only", choices=("bbc", "tdt2"), help="leave the other rows as they are")
    parser.add_argument("--seeds", type=int, nargs=2, default=(100, 106))
    parser.add_argument("--out", type=Path, default=RESULTS / "topics.json")
    arguments = parser.parse_args()
    seeds = range(*arguments.seeds)[: 1 if arguments.quick else None]
    texts, rows, parts = bbc(), [], []
    if arguments.only:
        kept = read_json(arguments.out)["rows"]
        rows = [r for r in kept if ("bbc" in r.get("data", "tdt2")) != (arguments.only == "bbc")]
    if arguments.only != "tdt2":
        parts += [planted_rows(texts, seeds), quality_rows(texts, seeds)]
    if arguments.only != "bbc" and not arguments.quick:
        parts.append(tdt2_rows(0, 12))
    for part in parts:
        for row in part:
            rows.append(row)
            write_json(arguments.out, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
