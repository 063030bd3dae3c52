"""Targets of a compilation: one file of data per target, and the class that answers for it."""

TARGETS = (
    "cpu",
    "cuda",
    "portable",
    "openvino",
    "tract",
)
"""Targets, each declared in the file of its name."""
