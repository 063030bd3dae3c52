"""The folder of a training run: models, initial values, and train.json, which describes them.

`gradc.training.trainer` reads it without gradc; docs/training_loops.md lists the files.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialects.support import shapes
from dialects.support.diagnostics import several, usage, violation
from dialects.support.option_names import advice
from gradc.files.json_text import json_text
from gradc.files.reading import read_error
from gradc.files.safetensors import read_safetensors, write_safetensors
from gradc.files.writing import StrPath, write_atomically, write_errors
from gradc.model.replaceable_initializers import (
    initializer_types,
    input_types,
    load_model,
    save_replaceable,
    with_metadata,
)
from gradc.model.saving import PROTO_LIMIT, save_model
from gradc.util.version import __version__

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

FORMAT = 1
"""Version of the folder; a Trainer reads its own version only."""

FACTS, PARAMETERS, STATE = "train.json", "params.safetensors", "state.safetensors"
MODEL = "model.onnx"
STEPS = ("step.onnx", "gradients.onnx", "apply.onnx")
MODELS = (*STEPS, "eval.onnx", MODEL)
FILES = (FACTS, PARAMETERS, STATE, *MODELS)

METADATA_KEY = "gradc.train"
"""Key of the facts in the metadata of the models of a step: the JSON of train.json."""

COUNTERS = ("step", "seed")
"""int64 scalars among the states: updates so far, and the seed of Dropout."""


@dataclass(frozen=True)
class Run:
    """Contents of a folder; `model` reads one of its models."""

    folder: Path
    facts: Mapping[str, Any]
    parameters: Mapping[str, np.ndarray]
    state: Mapping[str, np.ndarray]

    def model(self, name: str) -> ModelProto:
        return load_model(self.folder / name)


def write_folder(
    folder: StrPath,
    models: Mapping[str, ModelProto],
    parameters: Mapping[str, np.ndarray],
    state: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
    *,
    force: bool = False,
) -> None:
    """Write a run. Raises UsageError for a folder that holds another one, unless `force`.

    `models` are by file name. `facts` are those of train.json; the versions, the types of the inputs of the
    step, the digest of model.onnx and the positions of its initializers are added. train.json is removed
    first and written last: a folder without it is incomplete.
    """
    path = Path(folder)
    refuse_other_run(path, force=force)
    with write_errors(path / FACTS if path.is_dir() else path):
        path.mkdir(exist_ok=True)
        for name in FILES:
            (path / name).unlink(missing_ok=True)
    inputs = {
        name: one for step in STEPS if step in models for name, one in input_types(models[step]).items()
    }
    whole = {"format": FORMAT, "gradc": __version__, **facts, "inputs": inputs}
    if MODEL in models:
        whole |= _write_model(path / MODEL, models[MODEL], facts.get("export", {}))
    text = json_text(whole)
    for name, model in models.items():
        if name != MODEL:
            save_model(with_metadata(model, METADATA_KEY, text) if name in STEPS else model, path / name)
    write_safetensors(path / PARAMETERS, parameters)
    counters = {name: np.array(0, np.int64) for name in COUNTERS}
    write_safetensors(path / STATE, {**counters, **state})
    write_atomically(path / FACTS, text.encode())


def refuse_other_run(folder: StrPath, *, force: bool) -> None:
    """Raise UsageError for a path that is no folder, or, unless `force`, that holds files of a run."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise usage("output folder", given=os.fspath(folder), expected="a folder, not a file")
    found = [name for name in FILES if (path / name).exists()]
    if found and not force:
        hint = advice("force", "replaces it")
        raise usage(f"{os.fspath(folder)} holds another run: {several(found)}", hint=hint)


def read_folder(folder: StrPath) -> Run:
    """Return the contents of a run. Raises GradcError for a folder that holds none, or of another version."""
    path = Path(folder)
    facts = _read_facts(path / FACTS)
    return Run(path, facts, read_safetensors(path / PARAMETERS), read_safetensors(path / STATE))


def write_trained(
    model: ModelProto, facts: Mapping[str, Any], state: Mapping[str, np.ndarray], path: StrPath
) -> None:
    """Write the inference model of a run with the parameters and statistics of `state`.

    Values are rounded to the dtypes of the initializers. Raises UsageError for a missing value or another
    shape.
    """
    from gradc.inspection.weights import set_in_model

    sources = {name: one["from"] for name, one in facts["export"].items()}
    if missing := sorted({source for source in sources.values() if source not in state}):
        given = several(sorted(state)) or "nothing"
        raise usage("the state", given=given, expected=f"also {several(missing)}")
    stored = initializer_types(model)
    for name, source in sources.items():
        if np.shape(state[source]) != stored[name].shape:
            given = shapes.show(np.shape(state[source]))
            raise usage(f'shape of "{source}"', given=given, expected=shapes.show(stored[name].shape))
    values = {name: np.asarray(state[source]).astype(stored[name].dtype) for name, source in sources.items()}
    copy = type(model)()
    copy.CopyFrom(model)
    set_in_model(copy, values, path)


def check_folder(folder: StrPath) -> None:
    """Raise GradcError for a path that is no folder of a run."""
    _read_facts(Path(folder) / FACTS)


def _read_facts(path: Path) -> Mapping[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise violation(f"{path.parent} is no training folder: it has no {FACTS}") from None
    except OSError as error:
        raise read_error(path, error) from error
    except ValueError as error:
        raise violation(f"cannot read {path}: {error}") from error
    given = facts.get("format") if isinstance(facts, dict) else None
    if given != FORMAT:
        raise violation(f"format of {path}", given=given, expected=FORMAT, hint="write the folder again")
    return facts


def _write_model(path: Path, model: ModelProto, export: Mapping[str, Any]) -> dict[str, Any]:
    """Write model.onnx; return the facts by which its initializers can be replaced."""
    entries: dict[str, dict[str, Any]] = {name: dict(one) for name, one in export.items()}
    for name, place in save_replaceable(model, path, entries, PROTO_LIMIT).items():
        entries[name]["dtype"] = place.dtype
        if place.offset is not None:
            entries[name] |= {"offset": place.offset, "bytes": place.length}
    with open(path, "rb") as file:
        return {"model": {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}, "export": entries}
