"""Dictionaries from statistics of coded samples: one file per method."""

from thresher.learning.block_descent import BlockDescent
from thresher.learning.diagonal import DiagonalLearner, DiagonalStatistics
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
from thresher.learning.medians import median_atoms
from thresher.learning.orthogonal import (
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
from thresher.learning.projected_gradient import ProjectedGradientStep
from thresher.learning.quadratic import QuadraticLearner
from thresher.learning.ratio import RatioLearner, RatioStatistics
from thresher.learning.sparsity import keep_largest
from thresher.learning.statistics import Learner, Statistics, Sums
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
    "BatchSums",
    "BlockDescent",
    "DiagonalLearner",
    "DiagonalStatistics",
    "DictionaryProblem",
    "DictionaryStep",
    "FixedWeight",
    "Forgetting",
    "FrankWolfeState",
    "HalfLife",
    "Learner",
    "NoiseWeight",
    "OrthogonalLearner",
    "OutlierWeight",
    "OwnForgetting",
    "PlainAverage",
    "PowerForgetting",
    "PowerSchedule",
    "Progress",
    "ProjectedGradientStep",
    "QuadraticLearner",
    "QuadraticStatistics",
    "RangeWeight",
    "RatioLearner",
    "RatioStatistics",
    "RefinedLearner",
    "Statistics",
    "StochasticFrankWolfe",
    "Sums",
    "TrackedLearner",
    "exact_gradient",
    "frank_wolfe",
    "initial_atoms",
    "keep_largest",
    "mean_sample",
    "median_atoms",
    "positive_atoms",
    "principal_directions",
    "random_orthogonal",
    "sample_length",
    "weighted_quantile",
]
