"""Graphs as modules: verification, printing, inputs and outputs."""
