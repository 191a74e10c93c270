"""What must hold of an orthogonal dictionary, whose codes are one product, and of its peers."""

from typing import Any

import numpy as np

from fuzz.checks import Unchanged, near
from pairs.case import Trial, quietly
from pairs.checks import files_keep_everything, interrupted_fits_resume


def check(trial: Trial, model: Any) -> str:
    """Atoms are orthogonal, codes their products, scores what the largest codes leave out.

    Those of the peers lie in their set; codes of aodl solve their problem.
    """
    data, solver = trial.data, trial.parameters["solver"]
    peer = solver in ("sfw", "aodl")
    D = model.components_.astype(np.float64)
    rounding = 1e-8 if data.exact else 1e-4
    if not trial.parameters["whiten"]:
        product = np.eye(len(D)) if peer else D @ D.T
        near(product, np.eye(len(D)), rounding, "The product of atoms")
        near(model.dictionary_set_.project(D), D, rounding, "The projection of atoms")
    with Unchanged(model):
        C = quietly(lambda: model.transform(data.X, **data.weights))
        everything = quietly(lambda: _all_codes(model, data))
        files_keep_everything(model, data)
        certificates = model.certificates(data.X, C, **data.weights)
    seen = data.W > 0
    whole = quietly(lambda: model.impute(np.where(seen, data.numbers, np.nan)))
    if solver == "aodl":
        assert model.problem().certificate(whole, everything).max() <= rounding, "Codes are poor."
    if not peer:
        said = np.where(seen, everything @ D, 0)
        near(said, np.where(seen, data.numbers, 0), rounding, "A prediction")
    assert certificates.max() <= rounding, f"Codes have a certificate of {certificates.max():.2g}."
    kept = trial.parameters["n_nonzero"]
    if kept is not None:
        assert ((C != 0).sum(axis=1) <= kept).all(), "More codes than asked for."
        _largest_are_kept(C, everything, D, kept)
    objective = quietly(lambda: model.objective_samples(data.X, **data.weights))
    if kept is not None:
        whole = whole if peer else everything @ D
        left = (whole - C.astype(np.float64) @ D) ** 2
        near(objective, left.sum(axis=1) / 2, 10 * rounding, "An objective")
    interrupted_fits_resume(trial)
    return "optimal, certified"


def _all_codes(model: Any, data: Any) -> Any:
    kept = model.n_nonzero
    model.set_params(n_nonzero=None)
    try:
        return model.transform(data.X, **data.weights)
    finally:
        model.set_params(n_nonzero=kept)


def _largest_are_kept(C: Any, everything: Any, D: Any, kept: int) -> None:
    """What is kept is what explains most: the largest codes times the lengths of their atoms."""
    sizes = np.abs(everything) * np.linalg.norm(D, axis=1)
    least = np.where(C != 0, sizes, np.inf).min(axis=1)
    most = np.where(C == 0, sizes, 0).max(axis=1)
    full = (C != 0).sum(axis=1) == kept
    assert (least >= most * (1 - 1e-5))[full].all(), "A larger code was left out."
