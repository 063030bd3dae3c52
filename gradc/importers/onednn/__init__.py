"""Importer of oneDNN Graph documents."""
