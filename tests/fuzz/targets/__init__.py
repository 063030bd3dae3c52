"""What is fuzzed: one file per target."""

from __future__ import annotations

from fuzz.targets.base import Target
from fuzz.targets.graph import GraphTarget
from fuzz.targets.json_document import JsonTarget
from fuzz.targets.mlir_text import MlirTarget
from fuzz.targets.npz_constants import NpzTarget
from fuzz.targets.onnx_model import OnnxTarget
from fuzz.targets.tuning import TuningCacheTarget, TuningFileTarget

TARGETS: dict[str, type[Target]] = {
    target.name: target
    for target in (
        JsonTarget,
        MlirTarget,
        NpzTarget,
        OnnxTarget,
        TuningFileTarget,
        TuningCacheTarget,
        GraphTarget,
    )
}

GROUPS = {"tuning": ("tuning-file", "tuning-cache"), "all": tuple(TARGETS)}


def targets_of(word: str) -> tuple[str, ...]:
    """The names of the targets that a word on the command line stands for."""
    return GROUPS.get(word, (word,))
