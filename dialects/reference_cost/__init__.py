"""Time and memory that the numpy reference takes."""
