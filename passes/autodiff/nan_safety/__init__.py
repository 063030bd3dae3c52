"""Derivatives where a chain rule would multiply 0 by infinity."""
