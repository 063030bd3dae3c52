"""Orders of axes: of the ops and tensors of a graph, and what a change of order costs."""
