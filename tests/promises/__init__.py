"""What every estimator promises to its users: section 7 of the design, over all classes."""
