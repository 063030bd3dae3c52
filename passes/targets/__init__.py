"""Targets of a compilation."""
