"""How much of the library a first step visits, and how flat the public classes are."""

import inspect
import sys
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import thresher
from thresher import OnlineRobustNMF

SOURCE = str(Path(thresher.__file__).parent)
# Calls inside kernels are compiled calls; uncompiled, each of them would count.
KERNELS = str(Path(SOURCE, "kernels"))


def visited(call):
    """Files, functions and the largest depth of nested calls of the library in a call."""
    files, functions = set(), set()
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
            functions.add((name, frame.f_code.co_qualname))
        elif event == "return":
            depth -= 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, functions, deepest


def first_step():
    X = np.random.default_rng(0).random((64, 20))
    OnlineRobustNMF(4, random_state=0, verbose=0, n_jobs=1).partial_fit(X)  # imports and compiles
    model = OnlineRobustNMF(4, random_state=0, verbose=0, n_jobs=1)
    return visited(lambda: model.partial_fit(X))


def estimators():
    named = (getattr(thresher, name) for name in thresher.__all__)
    return [
        kind
        for kind in named
        if inspect.isclass(kind)
        and issubclass(kind, BaseEstimator)
        and kind.__module__.startswith("thresher.estimators")
    ]


if __name__ == "__main__":
    files, functions, deepest = first_step()
    print(*sorted(files), sep="\n")
    if "-v" in sys.argv:
        print(*sorted(f"{n.removeprefix(SOURCE)}:{q}" for n, q in functions), sep="\n")
    print(len(files), "files,", len(functions), "functions, depth", deepest)
