"""Metadata keys about weights in models that gradc wrote."""

from __future__ import annotations

REQUIRED_KEY = "gradc.required_weights"
"""Names of inputs that are weights without an initializer: a JSON list."""

CHANGED_KEY = "gradc.changed_weights"
"""Names of weights of the source that the model stores transposed or folded: a JSON list."""
