"""How much of the library a first step visits, and how flat the public classes are.

Only our own files count, without kernels: their calls are compiled, and would count if they were
not. A model of the same kind has run before, so that imports and compilation do not count.
"""

import ast
import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import thresher
from thresher import OnlineRobustNMF, TopicModel

SOURCE = str(Path(thresher.__file__).parent)
KERNELS = str(Path(SOURCE, "kernels"))


def visited(call):
    """Files, functions in the order of their first call, and the largest depth of nested calls."""
    files, functions = set(), {}
    depth = deepest = 0

    def profile(frame, event, arg):
        nonlocal depth, deepest
        name = frame.f_code.co_filename
        if not name.startswith(SOURCE) or name.startswith(KERNELS):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            files.add(name.removeprefix(SOURCE + "/"))
            functions.setdefault((name, frame.f_code.co_qualname))
        elif event == "return":
            depth -= 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, functions, deepest


def first_step():
    """The first `partial_fit` of a model."""
    X = np.random.default_rng(0).random((64, 20))
    OnlineRobustNMF(4, random_state=0, verbose=0, n_jobs=1).partial_fit(X)
    model = OnlineRobustNMF(4, random_state=0, verbose=0, n_jobs=1)
    return visited(lambda: model.partial_fit(X))


def topics_of_a_list():
    """The `fit` of a model of topics on 200 documents about three topics."""
    rng, syllables = np.random.default_rng(0), ("ba", "ko", "mi", "tur", "len", "sha", "do", "vin")
    words = np.array([a + b + c for a in syllables for b in syllables for c in syllables])[:120]
    documents = [" ".join(rng.choice(words.reshape(3, 40)[k % 3], 30)) for k in range(200)]
    TopicModel(3, random_state=0, verbose=0).fit(documents)
    model = TopicModel(3, random_state=0, verbose=0)
    return visited(lambda: model.fit(documents))


CALLS = {
    # 35, 209, 12 were reached; the targets of the redesign are 25 files, 120 functions, depth 10.
    "OnlineRobustNMF.partial_fit": (first_step, 36, 215, 12),
    # the targets of the redesign are 35 files, 160 functions.
    "TopicModel.fit": (topics_of_a_list, 53, 325, 20),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_visits_few_functions(name):
    call, n_files, n_functions, depth = CALLS[name]
    files, functions, deepest = call()
    assert len(files) <= n_files
    assert len(functions) <= n_functions
    assert deepest <= depth


def reading_path():
    """Modules and functions of the section of CONTRIBUTING.md on the path of a call."""
    text = Path(SOURCE, "../../CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## From a call to a new dictionary")[1].split("\n## ")[0]
    for module, words in re.findall(r"^\d+\. `([\w/]+\.py)`: (.*)$", section, re.MULTILINE):
        yield str(Path(SOURCE, module)), re.findall(r"`(\w+)`", words)


def test_the_reading_path_is_that_of_the_call():
    """At most twelve modules, whose functions are first called in the order in which they stand."""
    path = list(reading_path())
    assert 5 <= len(path) <= 12
    _, functions, _ = first_step()
    called = {}
    for place, (module, name) in enumerate(functions):
        called.setdefault((module, name.rpartition(".")[2]), place)
    assert all(names for _, names in path)
    places = [called[module, name] for module, names in path for name in names]
    assert places == sorted(places)


def estimators():
    named = (getattr(thresher, name) for name in thresher.__all__)
    return [
        kind
        for kind in named
        if inspect.isclass(kind)
        and issubclass(kind, BaseEstimator)
        and kind.__module__.startswith("thresher.estimators")
    ]


@pytest.mark.parametrize("kind", estimators(), ids=lambda kind: kind.__name__)
def test_few_of_our_classes_are_bases_of_an_estimator(kind):
    ours = [base for base in kind.__mro__ if base.__module__.startswith("thresher")]
    assert len(ours) <= 4, ours


def test_class_names_are_used_once():
    names = Counter(
        node.name
        for path in Path(SOURCE).rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert len([name for name, count in names.items() if count > 1]) <= 3


if __name__ == "__main__":
    for name, (call, *_) in CALLS.items():
        files, functions, deepest = call()
        if "-v" in sys.argv:
            print(*sorted(f"{n.removeprefix(SOURCE)}:{q}" for n, q in functions), sep="\n")
        print(f"{name}: {len(files)} files, {len(functions)} functions, depth {deepest}")
