"""Dictionaries from statistics of coded samples: one file per method."""

from thresher.learning.block_descent import BlockDescent
from thresher.learning.coded_samples import CodedSamples, linearised_step
from thresher.learning.diagonal import DiagonalLearner, DiagonalStatistics
from thresher.learning.dictionary_admm import DictionaryADMM
from thresher.learning.forgetting import Forgetting, HalfLife, PlainAverage, PowerForgetting
from thresher.learning.initial import initial_atoms, mean_sample, positive_atoms
from thresher.learning.l1_admm import L1DictionaryADMM
from thresher.learning.medians import median_atoms
from thresher.learning.oiadmm import DualStatistics, OnlineInexactADMM
from thresher.learning.outlier_weight import (
    FixedWeight,
    NoiseWeight,
    OutlierWeight,
    RangeWeight,
    weighted_quantile,
)
from thresher.learning.projected_gradient import DictionaryGradient
from thresher.learning.quadratic import QuadraticLearner
from thresher.learning.ratio import RatioLearner, RatioStatistics
from thresher.learning.robust_approximation import BufferStatistics, RobustApproximation
from thresher.learning.statistics import Learner, Statistics, Sums
from thresher.learning.stochastic_gradient import StepStatistics, StochasticGradient
from thresher.learning.surrogate import (
    BatchSums,
    DictionaryProblem,
    DictionaryStep,
    QuadraticStatistics,
)

__all__ = [
    "BatchSums",
    "BlockDescent",
    "BufferStatistics",
    "CodedSamples",
    "DiagonalLearner",
    "DiagonalStatistics",
    "DictionaryADMM",
    "DictionaryGradient",
    "DictionaryProblem",
    "DictionaryStep",
    "DualStatistics",
    "FixedWeight",
    "Forgetting",
    "HalfLife",
    "L1DictionaryADMM",
    "Learner",
    "NoiseWeight",
    "OnlineInexactADMM",
    "OutlierWeight",
    "PlainAverage",
    "PowerForgetting",
    "QuadraticLearner",
    "QuadraticStatistics",
    "RangeWeight",
    "RatioLearner",
    "RatioStatistics",
    "RobustApproximation",
    "Statistics",
    "StepStatistics",
    "StochasticGradient",
    "Sums",
    "initial_atoms",
    "linearised_step",
    "mean_sample",
    "median_atoms",
    "positive_atoms",
    "weighted_quantile",
]
