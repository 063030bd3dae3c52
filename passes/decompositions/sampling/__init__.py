"""Decompositions of ops that sample a tensor: by weighted taps, or in frames."""
