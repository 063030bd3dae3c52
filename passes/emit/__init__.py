"""What every pass writes with: the emitter, rewriting, arithmetic on sizes, tensors in other shapes."""
