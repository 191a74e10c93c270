"""Dictionaries from statistics of coded samples: one file per method."""

from thresher.learning.alternating import AlternatingLearner
from thresher.learning.block_descent import BlockDescent
from thresher.learning.coded_samples import CodedSamples, linearised_step
from thresher.learning.diagonal import DiagonalLearner, DiagonalStatistics
from thresher.learning.dictionary_admm import DictionaryADMM
from thresher.learning.forgetting import (
    Forgetting,
    HalfLife,
    OwnForgetting,
    PlainAverage,
    PowerForgetting,
)
from thresher.learning.frank_wolfe import (
    PUBLISHED_AVERAGING,
    PUBLISHED_STEP,
    SHIFTED_AVERAGING,
    FrankWolfeState,
    PowerSchedule,
    StochasticFrankWolfe,
    exact_gradient,
    frank_wolfe,
)
from thresher.learning.initial import initial_atoms, mean_sample, positive_atoms, sample_length
from thresher.learning.l1_admm import L1DictionaryADMM
from thresher.learning.medians import median_atoms
from thresher.learning.oiadmm import DualStatistics, Horizon, OnlineInexactADMM
from thresher.learning.orthogonal import (
    START_ITERATIONS,
    FrankWolfeLearner,
    OrthogonalLearner,
    Progress,
    random_orthogonal,
)
from thresher.learning.orthogonal_refined import RefinedLearner
from thresher.learning.orthogonal_tracked import TrackedLearner, principal_directions
from thresher.learning.outlier_weight import (
    FixedWeight,
    NoiseWeight,
    OutlierWeight,
    RangeWeight,
    weighted_quantile,
)
from thresher.learning.projected_gradient import DictionaryGradient
from thresher.learning.quadratic import BasisLearner, QuadraticLearner
from thresher.learning.ratio import RatioLearner, RatioStatistics
from thresher.learning.ridge_regression import RidgeRegression
from thresher.learning.robust_approximation import BufferStatistics, RobustApproximation
from thresher.learning.running_surrogate import RunningSurrogate, SurrogateLearner
from thresher.learning.sparsity import keep_largest
from thresher.learning.statistics import Learner, Statistics, Sums
from thresher.learning.stochastic_gradient import StepStatistics, StochasticGradient
from thresher.learning.surrogate import (
    BatchSums,
    DictionaryProblem,
    DictionaryStep,
    QuadraticStatistics,
)

__all__ = [
    "PUBLISHED_AVERAGING",
    "PUBLISHED_STEP",
    "SHIFTED_AVERAGING",
    "START_ITERATIONS",
    "AlternatingLearner",
    "BasisLearner",
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
    "FrankWolfeLearner",
    "FrankWolfeState",
    "HalfLife",
    "Horizon",
    "L1DictionaryADMM",
    "Learner",
    "NoiseWeight",
    "OnlineInexactADMM",
    "OrthogonalLearner",
    "OutlierWeight",
    "OwnForgetting",
    "PlainAverage",
    "PowerForgetting",
    "PowerSchedule",
    "Progress",
    "QuadraticLearner",
    "QuadraticStatistics",
    "RangeWeight",
    "RatioLearner",
    "RatioStatistics",
    "RefinedLearner",
    "RidgeRegression",
    "RobustApproximation",
    "RunningSurrogate",
    "Statistics",
    "StepStatistics",
    "StochasticFrankWolfe",
    "StochasticGradient",
    "Sums",
    "SurrogateLearner",
    "TrackedLearner",
    "exact_gradient",
    "frank_wolfe",
    "initial_atoms",
    "keep_largest",
    "linearised_step",
    "mean_sample",
    "median_atoms",
    "positive_atoms",
    "principal_directions",
    "random_orthogonal",
    "sample_length",
    "weighted_quantile",
]
