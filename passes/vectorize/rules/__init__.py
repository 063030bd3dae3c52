"""Batching rules, by classes of ops."""
