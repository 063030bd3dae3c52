"""The version of gradc."""

__version__ = "0.1.0"
