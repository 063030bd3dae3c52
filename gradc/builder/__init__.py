"""Source graphs from Python: `gradc.Graph`."""
