"""What a watcher is told while models work: labels, totals, and how far they are."""

import io
import re
import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from rich.console import Console

from thresher.cli.demo import _table
from thresher.cli.progress import stages
from thresher.engine import progress
from thresher.estimators import OnlineRobustNMF, RobustNMF
from thresher.testing.data import planted


class Watcher:
    """Stands in for rich's bar: keeps what it is told."""

    seen: ClassVar[list] = []

    def __init__(self, *columns, console=None):
        self.updates = []

    def add_task(self, label, total, note):
        Watcher.seen.append((label, total, self.updates))
        return 0

    def start(self):
        self.updates.append("start")

    def stop(self):
        self.updates.append("stop")

    def update(self, task, completed, note):
        self.updates.append((completed, note))


@pytest.fixture
def terminal(monkeypatch):
    """Every bar of the library, as on a terminal."""
    Watcher.seen = []
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    monkeypatch.setattr("rich.progress.Progress", Watcher)
    return Watcher.seen


@pytest.fixture
def watched(terminal, monkeypatch):
    """Bars that show up at once."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    return terminal


def test_learning_tells_samples_of_all_passes_and_the_loss(watched):
    X = planted(100)
    model = OnlineRobustNMF(3, batch_size=40, n_passes=2, random_state=0, verbose=1, tol=1e-12)
    model.fit(X)
    ((label, total, updates),) = watched
    assert label == "OnlineRobustNMF: learning"
    assert total == 200
    assert updates[0] == "start"
    assert updates[-1] == "stop"
    assert [done for done, _ in updates[1:-1]] == [40, 80, 100, 140, 180, 200]
    losses = [row.loss for row in model.history_]
    assert [note for _, note in updates[1:-1]] == [f"loss {loss:.4g}" for loss in losses]


def test_a_stream_has_no_total_and_counts_from_its_start(watched):
    X = planted(100)
    model = OnlineRobustNMF(3, random_state=0, verbose=1).fit(X[i : i + 50] for i in (0, 50))
    ((_, total, updates),) = watched
    assert total is None
    assert [done for done, _ in updates[1:-1]] == [50, 100]
    assert model.n_samples_seen_ == 100


def test_coding_and_rounds_tell_rows_and_objectives(watched):
    X = planted(300)
    model = RobustNMF(3, max_iter=3, random_state=0, verbose=1, tol=1e-12).fit(X)
    label, total, updates = watched[-1]
    assert label == "RobustNMF: rounds"
    assert total == 3
    assert [done for done, _ in updates[1:-1]] == [1, 2, 3]
    losses = [f"objective {row.loss:.4g}" for row in model.history_]
    assert [note for _, note in updates[1:-1]] == losses[-3:]
    del watched[:]
    model.set_params(max_iter=1000).transform(X)
    ((label, total, updates),) = watched
    assert label == "RobustNMF: coding"
    assert total == 300
    assert [done for done, _ in updates[1:-1]] == [128, 256, 300]


def test_nobody_is_told_what_nobody_asked_for(watched):
    X = planted(100)
    OnlineRobustNMF(3, random_state=0, verbose=0).fit(X).transform(X)
    RobustNMF(3, max_iter=3, random_state=0, verbose=0, tol=0.1).fit(X)
    assert watched == []


def test_two_seconds_of_patience_come_before_a_bar(terminal, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.ProgressBar("work", 10) as bar:
        for now[0], done in ((0.5, 1), (1.9, 2), (2.0, 3), (2.1, 4)):
            bar.update(done)
    assert terminal == [("work", 10, ["start", (3, ""), (4, ""), "stop"])]


class Terminal(io.StringIO):
    """Takes what is written, as a terminal would."""

    def isatty(self):
        return True


def plain(text):
    """What a terminal shows: no colours, and of lines written anew the last."""
    lines = re.sub(r"\x1b\[[?\d]*[a-zA-Z]", "", text).splitlines()
    return "\n".join(line.split("\r")[-1] for line in lines if line)


def test_a_bar_reads_from_its_label_to_its_note(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.ProgressBar("OnlineNMF: learning", 10) as bar:
        bar.update(4, "loss 3.1")
    shown = plain(sys.stderr.getvalue())
    pattern = r"OnlineNMF: learning +[━╸╺]+ +4/10 +([\d.,e+]+/s )?0:00:0\d [\d:-]+ loss 3\.1"
    assert re.fullmatch(pattern, shown.splitlines()[-1].rstrip())


def test_stages_have_a_bar_each():
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    with stages(console, "frames") as tell:
        for done in (0, 3, 7):
            tell("learning", done, 7)
        tell("separating", 2, 9)
    text = shown.getvalue()
    assert "7/7" in text
    assert "2/9" in text
    assert "frames" in text
    last = plain(text).splitlines()[-1]
    assert re.fullmatch(r"separating +[━╸╺]+ +2/9 frames +([\d.,e+]+/s )?0:00:0\d [\d:-]+", last)
    silent = io.StringIO()
    with stages(Console(file=silent, force_terminal=False), "frames") as tell:
        tell("learning", 1, 7)
    assert "learning" not in silent.getvalue()


def test_the_printed_table_is_that_of_the_report():
    class Result:
        def table(self):
            return [("PSNR", "31.4", "21.7"), ("F1", "0.86", "0.46")]

    shown = io.StringIO()
    Console(file=shown, width=100).print(_table(Result()))
    rows = [line.replace("│", " ").split() for line in shown.getvalue().splitlines()]
    assert ["PSNR", "31.4", "21.7"] in rows
    assert ["F1", "0.86", "0.46"] in rows
    heads = next(row for row in rows if "Thresher" in row)
    assert heads.index("Thresher") < heads.index("MiniBatchNMF")
    assert np.count_nonzero([row[:1] == ["PSNR"] for row in rows]) == 1
