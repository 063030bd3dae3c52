"""Fault injection for the gradient proof: the faults, and what becomes of each in a model."""
