"""How exact results are: errors against float64, for a graph of the user's and for every strategy.

errors   the measures: absolute, relative, in units of the last place
exact    the float64 reference, and the magnitudes of its terms
report   of one compiled graph: `gradc verify --report`
cases    the problems that every strategy is measured on, and its bounds
table    docs/accuracy.md
"""
