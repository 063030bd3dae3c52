"""The derivatives of ops, a file for each family."""
