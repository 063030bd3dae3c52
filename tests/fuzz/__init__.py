"""Fuzzing: made-up inputs, of which each must end as a right model or as a located diagnostic."""
