"""VJP rules and decompositions, by family of ops."""
