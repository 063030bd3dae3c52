"""Which values a gradient reaches, and what is said of the others."""
