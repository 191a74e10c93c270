"""Dictionaries from statistics of coded samples: one file per method."""

from thresher.learning.block_descent import BlockDescent
from thresher.learning.dictionary_admm import DictionaryADMM
from thresher.learning.forgetting import Forgetting, HalfLife, PlainAverage, PowerForgetting
from thresher.learning.initial import initial_atoms
from thresher.learning.outlier_weight import (
    FixedWeight,
    NoiseWeight,
    OutlierWeight,
    RangeWeight,
)
from thresher.learning.projected_gradient import DictionaryGradient
from thresher.learning.surrogate import (
    BatchSums,
    DictionaryProblem,
    DictionaryStep,
    QuadraticStatistics,
)

__all__ = [
    "BatchSums",
    "BlockDescent",
    "DictionaryADMM",
    "DictionaryGradient",
    "DictionaryProblem",
    "DictionaryStep",
    "FixedWeight",
    "Forgetting",
    "HalfLife",
    "NoiseWeight",
    "OutlierWeight",
    "PlainAverage",
    "PowerForgetting",
    "QuadraticStatistics",
    "RangeWeight",
    "initial_atoms",
]
