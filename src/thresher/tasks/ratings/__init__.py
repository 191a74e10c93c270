"""Ratings that users gave to items, and those that they would give."""

from thresher.tasks.ratings.model import RatingModel, Recommendations

__all__ = ["RatingModel", "Recommendations"]
