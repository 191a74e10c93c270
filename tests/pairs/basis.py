"""What must hold of robust PCA and its kin, which have no parts to cross but the kinds of data."""

from typing import Any

import numpy as np

from fuzz.checks import Unchanged, near
from pairs.case import Trial, quietly
from pairs.checks import files_keep_everything, interrupted_fits_resume


def check(trial: Trial, model: Any) -> str:
    """Codes meet their condition of optimality, ``c = clip(w (x − cD)) Dᵀ``, outliers the rest."""
    data, rounding = trial.data, 1e-6 if trial.data.exact else 1e-3
    model.set_params(code_tol=rounding / 100, code_max_iter=1000)
    D, level = model.components_.astype(np.float64), model.problem().loss.penalty.l1
    with Unchanged(model):
        C = quietly(lambda: model.transform(data.X, **data.weights)).astype(np.float64)
        files_keep_everything(model, data)
    pull = np.clip(data.W * (data.numbers - C @ D), -level, level) @ D.T
    size = float(np.abs(data.W * data.numbers).max() * np.abs(D).sum(axis=1).max()) + 1e-12
    near(C / size, pull / size, rounding, "A code")
    if hasattr(model, "partial_fit"):
        interrupted_fits_resume(trial)
    return "optimal, certified"
