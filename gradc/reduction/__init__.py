"""`gradc reduce`: reduces a failing graph to a small one that fails in the same way.

`ddmin` searches for a small subset, `graphs` removes parts of a graph, `sizes` shrinks its sizes, `search`
orders the attempts, `faults` defines the same failure.
"""
