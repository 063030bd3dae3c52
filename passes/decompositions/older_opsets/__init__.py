"""Decompositions of ops that an older opset lacks or defines otherwise."""
