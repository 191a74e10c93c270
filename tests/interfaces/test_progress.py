"""Progress bars show up on a terminal, after two seconds, unless nobody asked for them."""

import io
import re
import time
from contextlib import redirect_stderr

import numpy as np
import pytest

from thresher import OnlineRobustNMF, RobustNMF

X = np.random.default_rng(0).random((100, 12))
ONLINE = (OnlineRobustNMF, {"batch_size": 50, "n_passes": 2})
WHOLE = (RobustNMF, {"max_iter": 4})


class Terminal(io.StringIO):
    """Takes what is written, as a terminal would."""

    def isatty(self):
        return True


def fit(kind, parameters, seconds=0.9, terminal=None):
    """Fit with steps that take so long; return the model and the line that is shown at last."""
    slow = [lambda step: time.sleep(seconds)]
    model = kind(3, **{"random_state": 0, "tol": 1e-12, "callbacks": slow, **parameters})
    shown = Terminal() if terminal is None else terminal
    with redirect_stderr(shown):
        model.fit(X)
    plain = re.sub(r"\x1b\[[?\d]*[a-zA-Z]", "", shown.getvalue()).rstrip()
    return model, plain.split("\r")[-1]


@pytest.mark.parametrize(("learner", "done"), [(ONLINE, "200/200"), (WHOLE, "4/4")])
def test_a_fit_tells_how_far_it_is_and_its_loss(learner, done):
    """Samples of all passes, or iterations."""
    model, shown = fit(*learner)
    assert type(model).__name__ in shown
    assert done in shown
    assert f"{model.history_[-1].loss:.4g}" in shown


@pytest.mark.parametrize("learner", [ONLINE, WHOLE])
def test_quick_fits_are_silent(learner):
    assert fit(*learner, seconds=0)[1] == ""


def test_nobody_is_told_what_nobody_asked_for():
    assert fit(RobustNMF, {"max_iter": 4, "verbose": 0})[1] == ""


def test_nothing_is_shown_where_there_is_no_terminal():
    assert fit(*WHOLE, terminal=io.StringIO())[1] == ""
