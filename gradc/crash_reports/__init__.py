"""Crash reproducers for internal errors, and the recipes that replay them."""
