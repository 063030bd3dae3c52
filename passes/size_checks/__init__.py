"""Run-time checks of dynamic sizes, added to a model so that it fails if they do not hold."""
