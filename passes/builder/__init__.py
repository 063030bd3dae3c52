"""Builder of ops and values, rewriting, size arithmetic and reshaping, shared by all passes."""
