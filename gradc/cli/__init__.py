"""The commands `gradc` and `gradc-opt`."""
