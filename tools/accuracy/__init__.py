"""Accuracy of results against float64, for a user's graph and for every strategy.

errors   the measures: absolute, relative, in units of the last place
exact    the float64 reference, and the magnitudes of its terms
report   report of one compiled graph: `gradc verify --report`
cases    the measured problems of every strategy, and the bounds
table    docs/accuracy.md
"""
