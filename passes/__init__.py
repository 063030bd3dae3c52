"""What may be done to the dialects: one file, one pass; pipelines are strings."""
