"""Construction of source graphs in Python: `gradc.Graph`."""
