"""Constants of published solvers: each has a rule, and one sentence refuses."""

import re
from dataclasses import fields

import numpy as np
import pytest

from thresher.solvers import PUBLISHED
from thresher.solvers.constants import (
    ABOVE_MINUS_1,
    AT_LEAST_0,
    BELOW_1,
    BETWEEN_0_AND_1,
    COUNT,
    COUNT_OR_0,
    FLAG,
    POSITIVE,
    SHARE,
    one_of,
)

ALL = [(kind, field) for kind in PUBLISHED.values() for field in fields(kind)]


@pytest.mark.parametrize(("kind", "field"), ALL, ids=lambda part: part.name)
def test_every_constant_has_a_rule(kind, field):
    nonsense = [float("nan"), float("inf"), "nonsense", [1], 10**400]
    nonsense += [1] if isinstance(field.default, bool) else [True]
    nonsense += [] if field.default is None else [None]
    for value in nonsense:
        said = re.escape(f"{kind.name}({field.name}={value!r}) must be ")
        with pytest.raises(ValueError, match=f"^{said}.*[.]$"):
            kind(**{field.name: value})
    assert getattr(kind(**{field.name: field.default}), field.name) == field.default


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (POSITIVE, [1e-300, 3, np.float32(0.5)], [0, -1.0, np.float32(np.inf)]),
        (AT_LEAST_0, [0, 0.0, np.int64(7)], [-1e-300]),
        (ABOVE_MINUS_1, [-0.5, 0], [-1, -2.0]),
        (SHARE, [1e-9, 1], [0, 1.5]),
        (BETWEEN_0_AND_1, [0.5], [0, 1]),
        (BELOW_1, [0, 0.99], [-0.1, 1]),
        (COUNT, [1, np.int32(5)], [0, 2.0, -1]),
        (COUNT_OR_0, [0, 1], [-1, 0.0]),
        (FLAG, [True, False, np.True_], [0, 1, "True", None]),
        (one_of("l1", "l2"), ["l1", "l2"], ["l", 1, None]),
    ],
    ids=lambda part: getattr(part, "words", ""),
)
def test_rules_draw_their_line(rule, good, bad):
    assert all(rule.holds(value) for value in good)
    assert not any(rule.holds(value) for value in bad)


@pytest.mark.parametrize("kind", PUBLISHED.values(), ids=PUBLISHED)
def test_every_published_solver_names_its_paper(kind):
    made = kind().made()
    if hasattr(made, "description"):  # modes of the detector have none
        assert re.search("paper [A-E]|Guan|Lef|Wang|AODL|multiplicative", made.description)
