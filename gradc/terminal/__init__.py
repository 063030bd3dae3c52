"""Standard streams: diagnostics, tables, progress, as text for people or as JSON."""
