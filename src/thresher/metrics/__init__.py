"""Measures of how well data, factors, outliers and topics were recovered."""

from .clusters import purity
from .factors import factor_match_score, hoyer_sparseness
from .orthogonal import frank_wolfe_gap, orthogonal_error
from .outliers import SupportScores, support_scores
from .reconstruction import mean_regret, psnr, relative_error
from .topics import TopicCoherence, topic_coherence

__all__ = [
    "SupportScores",
    "TopicCoherence",
    "factor_match_score",
    "frank_wolfe_gap",
    "hoyer_sparseness",
    "mean_regret",
    "orthogonal_error",
    "psnr",
    "purity",
    "relative_error",
    "support_scores",
    "topic_coherence",
]
