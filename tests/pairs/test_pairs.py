"""A sample of all pairs of parts; `benchmarks/pairs.py` runs all of them."""

import numpy as np
import pytest

from pairs import slots
from pairs.case import Trial, plain
from pairs.checks import Fitted, check
from pairs.covering import Cover, all_pairs, pairs_of
from pairs.run import Matrix

PAIRS = 4  # of each estimator: some 30 s in all


@pytest.mark.parametrize("estimator", slots.names())
def test_a_sample_of_pairs_is_right_or_refused(estimator):
    matrix = Matrix(estimator, seed=0)
    cover = matrix.cover()
    pairs = all_pairs(cover.slots)
    cover.try_out(cover.plain)
    for i in cover.rng.choice(len(pairs), min(PAIRS, len(pairs)), replace=False):
        cover.case_with(pairs[i])
    wrong = {k: each.detail for k, each in matrix.outcomes.items() if each.kind == "wrong"}
    lines = [f"{Trial.of(key, 0).line()}\n{detail}" for key, detail in wrong.items()]
    assert not wrong, "\n".join(lines)
    assert any(each.kind != "refused" for each in matrix.outcomes.values()), "All is refused."


SLOTS = {"a": list("01234"), "b": list("0123"), "c": list("012"), "d": list("01")}


def _covered(cover):
    return {pair for case in cover.cases for pair in pairs_of(case)}


def test_every_pair_occurs_in_few_cases():
    cover = Cover(SLOTS, lambda case: True, np.random.default_rng(0)).make()
    assert _covered(cover) == set(all_pairs(SLOTS))
    assert not cover.refused
    # No fewer than the product of the two largest slots; the full product has 120.
    assert len(cover.cases) <= 26


def test_pairs_that_cannot_meet_are_distinguished():
    """A value that needs another (a=4 needs b=3), and two that cannot meet (c=2, d=1)."""

    def accepts(case):
        alone = case["a"] != "4" or case["b"] == "3"
        return alone and (case["c"], case["d"]) != ("2", "1")

    cover = Cover(SLOTS, accepts, np.random.default_rng(0)).make()
    expected = {(("a", "4"), ("b", b)) for b in "012"} | {(("c", "2"), ("d", "1"))}
    assert set(cover.refused) == expected
    assert _covered(cover) == set(all_pairs(SLOTS)) - expected
    assert all(accepts(case) for case in cover.cases)
    assert not any(accepts(case) for case in cover.refused.values())


def _fitted(**choices):
    trial = Trial("OnlineNMF", plain("OnlineNMF") | choices)
    return Fitted(trial, trial.fitted())


def _answer_wrongly(model, name, change):
    own = getattr(model, name)
    wrong = (lambda *a, **k: change(own(*a, **k))) if callable(own) else change(own)
    setattr(model, name, wrong)


@pytest.mark.parametrize(
    ("name", "change", "keyword"),
    [
        ("components_", lambda D: D + 1, "outside"),
        ("transform", lambda C: C - 0.1, "outside"),
        ("transform", lambda C: C * 1.05, "cost"),
        ("transform", lambda C: C * 0.8, "cost|above"),
        ("objective_samples", lambda v: v * 1.001, "objective"),
        ("score_samples", lambda v: v - 1e-3, "score"),
        ("certificates", lambda v: v + 1e-3, "certificate"),
        ("certificates", lambda v: v * 0, "certificate"),
    ],
)
def test_wrong_answers_are_noticed(name, change, keyword):
    fitted = _fitted(divergence="kl")
    _answer_wrongly(fitted.model, name, change)
    with pytest.raises(AssertionError, match=keyword):
        check(fitted)
