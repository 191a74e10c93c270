"""Before a fit every public class can be inspected, and what needs a fit raises NotFittedError."""

import inspect

import pytest
from sklearn.exceptions import NotFittedError

import thresher


def is_fitted_by_data(kind):
    """Whether a class learns, and can be made without arguments."""
    parameters = inspect.signature(kind).parameters.values()
    required = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    learns = any(hasattr(kind, verb) for verb in ("fit", "partial_fit", "separate", "compress"))
    return learns and not required


PUBLIC = [kind for name in dir(thresher) if inspect.isclass(kind := getattr(thresher, name))]
CLASSES = [kind for kind in PUBLIC if is_fitted_by_data(kind)]
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


@every_class
def test_unfitted_objects_can_be_inspected(kind):
    unfitted, missing = kind(), object()
    for name in {*dir(unfitted), *dir(kind)}:
        assert hasattr(unfitted, name) == (getattr(unfitted, name, missing) is not missing)


@every_class
def test_attributes_that_need_a_fit_say_so(kind):
    unfitted = kind()
    for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property)):
        if name.endswith("_") and not hasattr(unfitted, name):
            with pytest.raises(NotFittedError):
                getattr(unfitted, name)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if hasattr(kind, "fit")])
def test_models_without_a_fit_are_not_saved(kind, tmp_path):
    with pytest.raises(NotFittedError):
        thresher.save(kind(), tmp_path / "model")
