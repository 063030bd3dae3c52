"""As `sitecustomize.py` on the path: the pass resolve-auto-pad fails, for the page on what fails."""

from passes.resolve_auto_pad import ResolveAutoPadPass


def fails(*_):
    raise ValueError("no such luck")


ResolveAutoPadPass.apply = fails
