"""Graphs as modules: their text, their inputs and outputs, what must hold of them."""
