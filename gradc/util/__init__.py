"""Shared helpers: argument checks, facts about the machine, installed packages."""
