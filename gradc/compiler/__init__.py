"""From a source to a model: options, the pipeline, what was compiled."""
