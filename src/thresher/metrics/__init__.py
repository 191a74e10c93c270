"""Measures of how well data, factors and outliers were recovered."""

from .factors import factor_match_score, hoyer_sparseness
from .outliers import SupportScores, support_scores
from .reconstruction import mean_regret, psnr, relative_error

__all__ = [
    "SupportScores",
    "factor_match_score",
    "hoyer_sparseness",
    "mean_regret",
    "psnr",
    "relative_error",
    "support_scores",
]
