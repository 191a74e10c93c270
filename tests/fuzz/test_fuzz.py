"""The first cases of every family; `benchmarks/fuzz.py` runs many more."""

import pytest

pytest.importorskip("resource", reason="Limits on memory need a POSIX system.")

from fuzz.harness import GOOD, Workers, families

CASES = 5
ONLY_REFUSALS = ("refused", "say_so", "no_harm", "no_trace", "damage_is_noticed")
"""What the names of families say in which nothing is to be accepted."""


@pytest.fixture(scope="module")
def workers():
    with Workers(jobs=2) as workers:
        yield workers


@pytest.mark.parametrize("family", families())
def test_no_case_fails(workers, family):
    results = list(workers.run((family, seed) for seed in range(CASES)))
    if not any(result.kind == "right" for result in results):  # as many more, to check one
        results += workers.run((family, seed) for seed in range(CASES, 2 * CASES))
    failures = [result for result in results if result.kind not in GOOD]
    assert not failures, "\n".join(f"{f.line()}\n{f.detail}" for f in failures)
    checked = any(result.kind == "right" for result in results)
    assert checked or family.endswith(ONLY_REFUSALS), "No case was checked."
