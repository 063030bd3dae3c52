"""Geometry that every dialect shares: sizes as expressions."""
