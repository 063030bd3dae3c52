"""Shared infrastructure of all dialects: dtypes, shapes, dense constants, diagnostics, op interfaces."""
