"""Any order of steps in the life of a stream; hypothesis finds the shortest one that breaks.

A twin learns from the same batches and grows alike, but nobody looks at it, sends it bad batches,
or takes it through a file: the bits of both stay the same.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fuzz.checks import Unchanged, refusal, same_bits
from thresher import OnlineNMF, OnlineRobustNMF, load, save

SEEDS = st.integers(0, 99)


class Stream(RuleBasedStateMachine):
    @initialize(divergence=st.sampled_from(["squared_l2", "kl", "huber", None]), seed=SEEDS)
    def begin(self, divergence, seed):
        if divergence is None:
            kind, parameters = OnlineRobustNMF, {"outlier_weight": "mad"}
        else:
            kind, parameters = OnlineNMF, {"divergence": divergence}
        wanted = {
            **parameters,
            "random_state": seed,
            "code_max_iter": 50,
            "verbose": 0,
            "n_jobs": 1,
        }
        self.model, self.twin = kind(2, **wanted), kind(2, **wanted)
        self.width = 4

    def samples(self, seed, n):
        rng = np.random.default_rng(seed)
        return rng.random((n, 2)) @ rng.random((2, self.width)) + 0.01

    def begun(self):
        return hasattr(self.model, "components_")

    @rule(seed=SEEDS, n=st.integers(1, 9))
    def learn(self, seed, n):
        X = self.samples(seed, n)
        self.model.partial_fit(X)
        self.twin.partial_fit(X)

    @rule(seed=SEEDS, bad=st.sampled_from([-1.0, np.inf, 1e300, "width"]))
    def refuse(self, seed, bad):
        X = self.samples(seed, 3)
        if bad == "width":
            X = X[:, :-1]
        else:
            X[1, 0] = bad
        if not self.begun() and bad in (1e300, "width"):
            return
        with Unchanged(self.model):
            refusal(lambda: self.model.partial_fit(X))

    @precondition(begun)
    @rule(seed=SEEDS)
    def look(self, seed):
        X = self.samples(seed, 5)
        with Unchanged(self.model, X), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # samples without any entry stay NaN
            self.model.transform(X)
            self.model.score_samples(X)
            self.model.impute(np.where(X.mean() < X, np.nan, X))

    @precondition(begun)
    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            save(self.model, Path(folder) / "model.thresher")
            self.model = load(Path(folder) / "model.thresher")

    @precondition(begun)
    @rule(features=st.integers(0, 2), atoms=st.integers(0, 1))
    def grow(self, features, atoms):
        self.width = min(self.width + features, 8)
        for model in (self.model, self.twin):
            model.grow(n_features=self.width, atoms=atoms)

    @precondition(begun)
    @rule(column=st.integers(0, 7))
    def forget_a_feature(self, column):
        if self.width > 2:
            kept = np.delete(np.arange(self.width), column % self.width)
            self.width -= 1
            for model in (self.model, self.twin):
                model.keep_features(kept)

    @precondition(begun)
    @rule(value=st.sampled_from([{"n_components": 9}, {"solver": "nothing"}, {"tol": -1.0}]))
    def change_and_change_back(self, value):
        old = {name: self.model.get_params()[name] for name in value}
        self.model.set_params(**value)
        refusal(lambda: self.model.partial_fit(self.samples(0, 3)))
        self.model.set_params(**old)

    @invariant()
    def the_twin_agrees(self):
        if hasattr(self, "model") and self.begun():
            same_bits(self.model.components_, self.twin.components_, "The dictionary")
            assert self.model.components_.shape[1] == self.width
            assert self.model.n_samples_seen_ == self.twin.n_samples_seen_


TestStream = Stream.TestCase
TestStream.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
