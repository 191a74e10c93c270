"""Paper A, "Online Nonnegative Matrix Factorization with Outliers": one file per algorithm."""
