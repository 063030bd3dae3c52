"""Losses as text, for the command line: `cross-entropy:ignore_index=-1,label_smoothing=0.1`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dialects.support.diagnostics import suggest, usage
from gradc.losses.base import Loss
from gradc.losses.classification import NLL, CrossEntropy
from gradc.losses.distillation import Distillation
from gradc.losses.embeddings import Cosine, Triplet
from gradc.losses.functions import Function, Output
from gradc.losses.loss_model import Model
from gradc.losses.regression import L1, MSE, BCEWithLogits, Huber, KLDiv, SmoothL1
from gradc.util import arguments

LOSSES: Mapping[str, type[Loss]] = {
    "cross-entropy": CrossEntropy,
    "nll": NLL,
    "bce-with-logits": BCEWithLogits,
    "mse": MSE,
    "l1": L1,
    "huber": Huber,
    "smooth-l1": SmoothL1,
    "kl-div": KLDiv,
    "cosine": Cosine,
    "triplet": Triplet,
    "distillation": Distillation,
    "output": Output,
}
"""Name in text -> the class of the loss."""

MODEL = "model"
"""Name before the path of a loss model."""


SOURCES = (".onnx", ".json", ".mlir")
"""Endings of the paths of loss models."""


def parse(text: str) -> Loss:
    """Return the loss of a text: a name and options, `huber:delta=0.5`, or `model:loss.onnx`.

    Options are those of the class; lists of numbers are separated by `/`, such as `weight=1/2/0.5`.
    Raises UsageError for unknown names and options, and for values that the loss does not accept.
    """
    name, _, rest = text.strip().partition(":")
    key = _key(text)
    if key == MODEL:
        if not rest:
            raise usage("loss model", "no path", "model:loss.onnx")
        return Model(rest)
    if key not in LOSSES:
        hint = suggest(key, [*LOSSES, MODEL])
        raise usage("loss", name, f"one of {', '.join([*LOSSES, MODEL])}", hint)
    cls = LOSSES[key]
    return cls(**_options(cls, key, rest))


def as_loss(given: Any) -> Loss:
    """Return the loss for an argument `loss`.

    A loss is one itself, a text is parsed, a function is wrapped, paths (of strings those with the ending of
    a source, such as loss.onnx) and an onnx.ModelProto are loss models.
    """
    match given:
        case Loss():
            return given
        case str() if _key(given) in (*LOSSES, MODEL) or os.path.splitext(given)[1] not in SOURCES:
            return parse(given)
        case _ if arguments.is_path(given) or type(given).__name__ == "ModelProto":
            return Model(given)
        case _ if callable(given) and not isinstance(given, type):
            return Function(given)
        case _:
            hint = f"{given.__name__}() makes one" if _is_class(given) else ""
            given = given.__name__ if isinstance(given, type) else type(given).__name__
            raise usage("loss", given, "one of gradc.losses, its text, a function or a loss model", hint)


def _key(text: str) -> str:
    """Return the name of the loss in a text, as in `LOSSES`."""
    return text.partition(":")[0].strip().lower().replace("_", "-")


def _is_class(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Loss)


def _options(cls: type[Loss], name: str, text: str) -> dict[str, Any]:
    known = {f.name: f.default for f in fields(cls) if f.default is not MISSING}
    found = dict[str, Any]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or key not in known or key in found:
            expected = f"options {', '.join(known)}" if known else "no option"
            given = f"{key} twice" if key in found else part
            raise usage(f"loss {name}", given, expected, suggest(key, known) if key not in known else "")
        found[key] = _value(f"loss {name} {key}", value.strip(), known[key])
    return found


def _value(what: str, text: str, default: Any) -> Any:
    """Return the value of an option, by the type of its default, which is None for numbers and lists."""
    match default:
        case bool():
            if text.lower() not in ("true", "false"):
                raise usage(what, text, "true or false")
            return text.lower() == "true"
        case str():
            return text
        case _ if text.lower() == "none":
            return None
        case _:
            numbers = [_number(what, part) for part in text.split("/")]
            return numbers if len(numbers) > 1 or what.endswith("weight") else numbers[0]


def _number(what: str, text: str) -> int | float:
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        raise usage(what, text, "a number") from None
