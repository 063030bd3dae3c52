"""Derivatives of models as models: `gradc.grad`, `gradc.vjp`, `gradc.hvp` and their check."""
