"""Verification of results: sample inputs, the numpy reference, error bounds, gradient checks."""
