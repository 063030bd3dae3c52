"""Importer of MLIR text."""
