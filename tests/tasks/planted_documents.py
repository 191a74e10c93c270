"""Documents about planted subjects."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

SUBJECTS = {
    name: words.split()
    for name, words in {
        "weather": "rain wind snow storm cloud frost thunder sunshine hail fog",
        "music": "guitar piano concert singer melody drum opera violin chorus song",
        "politics": "vote minister parliament budget election senate law policy tax party",
        "sport": "goal match team player league coach referee stadium cup score",
    }.items()
}
THREE = ["weather", "music", "politics"]
COMMON = ["people", "today", "time", "year", "place", "world", "week", "city", "day", "house"]


def documents(subjects, n, seed=0, own=8, common=4, other=0):
    """Draw n texts and their subjects.

    A text has `own` words of its subject, `common` words that all subjects share, and `other`
    words of any subject.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(subjects), n)
    everything = [word for subject in subjects for word in SUBJECTS[subject]]
    texts = [
        " ".join(
            [
                *rng.choice(SUBJECTS[label], own),
                *rng.choice(COMMON, common),
                *rng.choice(everything, other),
            ]
        )
        for label in labels
    ]
    return texts, labels


def tf_idf(counts, known_counts):
    """Weight counts by (1 + log tf) log(n / df), with frequencies of the known documents."""
    counts, known_counts = np.asarray(counts), np.asarray(known_counts)
    idf = np.log(len(known_counts) / (known_counts > 0).sum(axis=0))
    return np.where(counts > 0, (1 + np.log(np.maximum(counts, 1))) * idf, 0.0)


def count_words(texts, words):
    """Count the given words in texts, as a dense table."""
    return CountVectorizer(vocabulary=list(words)).transform(texts).toarray()
