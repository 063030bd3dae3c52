"""Activity analysis: active values, and diagnostics for inactive ones."""
