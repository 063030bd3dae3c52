"""Decompositions of ops for which a target has no kernel."""
