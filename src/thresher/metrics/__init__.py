"""Measures of how well data, factors, outliers and topics were recovered."""

from .clusters import clustering_accuracy, probabilistic_rand_index, purity
from .factors import factor_match_score, hoyer_sparseness, matched_cosines
from .l1_dictionary import regret, regret_bound, sparse_reconstruction_error, violation_bound
from .orthogonal import frank_wolfe_gap, orthogonal_error
from .outliers import SupportScores, support_scores
from .reconstruction import mean_regret, psnr, relative_error, squared_relative_error
from .sound import signal_to_distortion
from .spectra import spectral_angles
from .topics import TopicCoherence, topic_coherence

__all__ = [
    "SupportScores",
    "TopicCoherence",
    "clustering_accuracy",
    "factor_match_score",
    "frank_wolfe_gap",
    "hoyer_sparseness",
    "matched_cosines",
    "mean_regret",
    "orthogonal_error",
    "probabilistic_rand_index",
    "psnr",
    "purity",
    "regret",
    "regret_bound",
    "relative_error",
    "signal_to_distortion",
    "sparse_reconstruction_error",
    "spectral_angles",
    "squared_relative_error",
    "support_scores",
    "topic_coherence",
    "violation_bound",
]
