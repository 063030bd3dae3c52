"""Lowerings of canonical ops of other kinds."""
