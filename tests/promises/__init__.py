"""What the library promises of every estimator."""
