"""The oracle: slow, obvious numpy, each gradient by scatter from the *forward* op's index equation.

Nothing here uses an identity that a lowering uses, so oracle and lowering cannot share a mistake.
Everything is accumulated in float64 and rounded once, by the caller.
"""
