"""The harness notices what it is there to notice."""

import pytest

pytest.importorskip("resource", reason="Limits on memory need a POSIX system.")

from fuzz.harness import Tally, Workers, count

MEMORY = 256 << 20


@pytest.fixture(scope="module")
def workers():
    with Workers(jobs=1, time_limit=1.0, memory_limit=MEMORY) as workers:
        yield workers


@pytest.mark.parametrize(
    ("family", "kind", "words"),
    [
        ("is_right", "right", ""),
        ("is_wrong", "wrong", "Two and two are five."),
        ("raises", "crash", "nobody caught this"),
        ("warns", "crash", "overflow encountered"),
        ("leaves", "crash", "SystemExit"),
        ("says_nothing", "wrong", "not known"),
        ("hangs", "time", "No end after 1 s"),
        ("turns_in_circles", "time", "No end after 1 s"),
        ("compiles_for_long", "right", ""),
        ("eats_memory", "memory", ""),
        ("asks_for_too_much", "memory", ""),
        ("aborts", "died", "-6"),
    ],
)
def test_every_end_is_told_apart_and_the_worker_goes_on(workers, family, kind, words):
    result, after = workers.run([(f"broken.{family}", 3), ("broken.is_right", 4)])
    assert result.kind == kind
    assert words in result.detail
    assert f"broken.{family} 3" in result.line()
    assert after.kind == "right"


def test_counts_come_back_from_the_record(workers):
    tallies: dict[str, Tally] = {}
    names = ["broken.is_right", "broken.is_wrong"]
    count(workers.run((name, seed) for name in names for seed in range(3)), tallies)
    assert tallies["broken.is_right"].outcomes == {"right": 3}
    assert [failure["seed"] for failure in tallies["broken.is_wrong"].failures] == [0, 1, 2]
    again = {name: Tally.from_json(tally.to_json()) for name, tally in tallies.items()}
    assert {n: t.to_json() for n, t in again.items()} == {
        n: t.to_json() for n, t in tallies.items()
    }
