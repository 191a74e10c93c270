"""Documents: reports of a town, in the order of their dates."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np

_DAYS, _A_DAY = 70, 12
_NEW_FROM = 56

# Who, does what, to what, and where: any of each makes a sentence.
_SUBJECTS = {
    "council": (
        ("The council", "The mayor", "A committee", "The treasurer"),
        ("voted on", "debated", "postponed", "approved"),
        ("the budget", "a new tax", "the parking permit", "the housing plan", "public spending"),
        ("after a long session", "against the opposition", "before the election", "by one vote"),
    ),
    "football": (
        ("The home team", "The goalkeeper", "A striker", "The coach"),
        ("praised", "lost", "won", "remembered"),
        ("the cup match", "a penalty", "the derby", "the last league game", "the second half"),
        ("in front of the fans", "in extra time", "after the break", "on a wet pitch"),
    ),
    "weather": (
        ("Heavy rain", "A storm", "Fog", "Snow", "Strong wind"),
        ("delayed", "covered", "flooded", "followed"),
        ("the northern hills", "the coast", "the valley", "the river banks", "the forecast"),
        ("through the night", "until the morning", "with falling temperatures", "for hours"),
    ),
    "kitchen": (
        ("The baker", "A chef", "The market", "A food festival"),
        ("offered", "tasted", "sold", "prepared"),
        ("fresh bread", "a fish soup", "local cheese", "an apple cake", "roasted vegetables"),
        ("for the hungry guests", "from an old recipe", "with herbs and butter", "at lunch"),
    ),
    "music": (
        ("The orchestra", "A singer", "The choir", "A young pianist"),
        ("performed", "rehearsed", "recorded", "opened with"),
        ("a symphony", "three songs", "the opera", "a violin concerto", "a late sonata"),
        ("in the concert hall", "to long applause", "under a guest conductor", "on the stage"),
    ),
}
_NEW = (
    ("Astronomers", "The observatory", "A telescope", "Students of physics"),
    ("sighted", "photographed", "measured", "followed"),
    ("a bright comet", "the tail of the comet", "a meteor shower", "dust of the comet"),
    ("in the eastern sky", "before dawn", "near the constellation of the lion", "by its orbit"),
)


def documents_file() -> bytes:
    """JSON lines with a date, a subject and a text of two or three sentences each."""
    rng = np.random.default_rng(4)
    names = list(_SUBJECTS)
    lines = []
    for day in range(_DAYS):
        for _ in range(_A_DAY):
            new = day >= _NEW_FROM and rng.random() < 0.12
            subject = "comet" if new else names[rng.integers(len(names))]
            parts = _NEW if new else _SUBJECTS[subject]
            sentences = [_sentence(rng, parts) for _ in range(rng.integers(2, 4))]
            record = {
                "date": (date(2026, 3, 2) + timedelta(days=day)).isoformat(),
                "subject": subject,
                "text": " ".join(sentences),
            }
            lines.append(json.dumps(record))
    return ("\n".join(lines) + "\n").encode()


def _sentence(rng: np.random.Generator, parts: tuple[tuple[str, ...], ...]) -> str:
    return " ".join(str(choices[rng.integers(len(choices))]) for choices in parts) + "."
