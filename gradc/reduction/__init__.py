"""`gradc reduce`: from a graph that fails to a small one that still fails in the same way.

`ddmin` is the search for a small subset, `graphs` what can be left out of a graph, `sizes` what can be
made smaller in it, `search` the order of the attempts, `faults` what counts as the same failure.
"""
