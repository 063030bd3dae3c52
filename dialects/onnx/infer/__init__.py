"""Shape rules: one per ONNX op, from operand shapes to result shapes.

A rule is a pure function of a `Call`. It propagates unknown and symbolic dims wherever that is sound, and
raises GradcError if shapes and attributes contradict each other. `RULES` of `arrays`, `index`, `nn` and
`reductions` enter each op under its kind, which makes the sets of `traits`; `rules` applies them.
"""
