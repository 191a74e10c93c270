"""The estimators layer."""
