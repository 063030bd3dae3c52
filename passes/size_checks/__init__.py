"""Conditions on run-time sizes, written into a model that fails where they do not hold."""
