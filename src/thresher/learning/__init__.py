"""Dictionary updates from statistics of coded samples: one module for each method."""

from thresher.learning.diagonal import DiagonalLearner, DiagonalStatistics
from thresher.learning.frank_wolfe import (
    FrankWolfeState,
    PowerSchedule,
    StochasticFrankWolfe,
    exact_gradient,
    frank_wolfe,
)
from thresher.learning.initialisation import (
    initial_atoms,
    mean_sample,
    median_atoms,
    positive_atoms,
    sample_length,
)
from thresher.learning.orthogonal import (
    OrthogonalLearner,
    Progress,
    keep_largest,
    principal_directions,
    random_orthogonal,
)
from thresher.learning.orthogonal_refined import RefinedLearner
from thresher.learning.orthogonal_tracked import TrackedLearner
from thresher.learning.outlier_weight import (
    FixedWeight,
    NoiseWeight,
    OutlierWeight,
    RangeWeight,
    weighted_quantile,
)
from thresher.learning.quadratic import (
    BlockDescent,
    DictionaryProblem,
    DictionaryStep,
    QuadraticLearner,
    QuadraticStatistics,
)
from thresher.learning.ratio import RatioLearner, RatioStatistics
from thresher.learning.statistics import (
    CustomForgetting,
    Forgetting,
    HalfLife,
    Learner,
    PlainAverage,
    PowerForgetting,
    Statistics,
)

__all__ = [
    "BlockDescent",
    "CustomForgetting",
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
    "Statistics",
    "StochasticFrankWolfe",
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
