"""The compiler driver: options, pipelines, gradients, compiled models."""
