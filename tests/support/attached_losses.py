"""A loss on the inputs of a model without ops: its value and its gradients, by numpy or by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
import gradc
from dialects.evaluate import evaluate
from dialects.support.dtypes import known_dtype
from dialects.support.entry import entry_function, input_names
from gradc.losses import Loss
from passes.differentiate import Request, differentiate
from passes.training.attach_loss import AttachLossPass, Term

Arrays = Mapping[str, np.ndarray]


def identity(values: Arrays, shapes: Mapping[str, Sequence[str | int]] | None = None) -> ModuleOp:
    """A function that returns its inputs, whose names are those of `values` with `in_`."""
    texts = [_type(array, (shapes or {}).get(name, array.shape)) for name, array in values.items()]
    inputs = ", ".join(f"%in_{name}: {text}" for name, text in zip(values, texts, strict=True))
    ops = "\n".join(
        f"%{name} = onnx.Identity %in_{name} : ({text}) -> {text}"
        for name, text in zip(values, texts, strict=True)
    )
    results = ", ".join(f"%{name}" for name in values)
    types = ", ".join(texts)
    body = f"{{\n{ops}\nfunc.return {results} : {types}\n}}"
    return Parser(dialects.context(), f"func.func @main({inputs}) -> ({types}) {body}").parse_module()


def _type(array: np.ndarray, shape: Sequence[str | int]) -> str:
    dims = "".join(f"{size if isinstance(size, int) else '?'}x" for size in shape)
    names = ", ".join(f'"{size if isinstance(size, str) else ""}"' for size in shape)
    encoding = f", [{names}]" if any(isinstance(size, str) for size in shape) else ""
    return f"tensor<{dims}{known_dtype(array.dtype).mlir}{encoding}>"


def attach(loss: Loss, values: Arrays, shapes: Mapping[str, Sequence[str | int]] | None = None) -> ModuleOp:
    module = identity(values, shapes)
    AttachLossPass((Term(tuple(values), loss),)).apply(Context(), module)
    module.verify()
    return module


def by_numpy(
    loss: Loss,
    values: Arrays,
    labels: Arrays,
    shapes: Mapping[str, Sequence[str | int]] | None = None,
    wrt: Sequence[str] | None = None,
) -> tuple[np.ndarray, ...]:
    """The loss, and its gradient by each value, computed by the numpy semantics of the ops."""
    module = attach(loss, values, shapes)
    names = input_names(entry_function(module))
    of = [f"in_{name}" for name in values if wrt is None or name in wrt]
    differentiate(module, Request(of=["loss"], wrt=of, keep=["loss"]))
    feeds = {f"in_{name}": array for name, array in values.items()} | dict(labels)
    return tuple(evaluate(module, [feeds[name] for name in names]))


def by_onnxruntime(
    loss: Loss,
    values: Arrays,
    labels: Arrays,
    shapes: Mapping[str, Sequence[str | int]] | None = None,
    **options: object,
) -> tuple[np.ndarray, ...]:
    """The same by the compiled model; by default without its check."""
    module = attach(loss, values, shapes)
    wrt = [f"in_{name}" for name in values]
    compiled = gradc.value_and_grad(module, of="loss", wrt=wrt, **{"check": False, **options})  # type: ignore[arg-type]
    found = compiled.run({f"in_{name}": array for name, array in values.items()} | dict(labels))
    return (found["loss"], *(found[f"grad_{name}"] for name in wrt))
