"""Numpy oracle of the gradients: plain scatters along the *forward* op's index equation.

It uses no identity that a lowering uses, so oracle and lowering cannot share a mistake. Sums are accumulated
in float64 and rounded once, by the caller.
"""
