"""A compiled model that somebody has changed since: whether it was, and whose fault it is then."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError
from gradc.faults.crash import one_line

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto


def digest(model: ModelProto, large: Collection[str]) -> bytes:
    """Another one for a model that was changed, but for the numbers of the weights that are named in `large`:
    it takes a microsecond or so a node."""
    graph, known = model.graph, hashlib.blake2b(digest_size=16)
    parts = (*model.opset_import, *model.functions, *graph.input, *graph.output, *graph.node)
    for part in parts:
        known.update(part.SerializeToString(deterministic=True))
    for tensor in graph.initializer:
        is_large = tensor.name in large
        shown = repr((tensor.name, tensor.data_type, list(tensor.dims))).encode()
        known.update(shown if is_large else tensor.SerializeToString(deterministic=True))
    return known.digest()


@contextlib.contextmanager
def blamed_on_edits(model: ModelProto | None, module: ModuleOp, opset: int) -> Iterator[None]:
    """An exception of what reads the model, as a GradcError where it is not what the module is written as.

    The model is None where nobody has had it.
    """
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        if model is None or not _is_edited(model, module, opset):
            raise
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        what = f"model was changed after it was compiled, and is no good any more: {one_line(cause)}"
        raise GradcError(Diagnostic("error", what)) from error


def _is_edited(model: ModelProto, module: ModuleOp, opset: int) -> bool:
    """Nobody changes the module."""
    from gradc.model.exporter import export

    metadata = {entry.key: entry.value for entry in model.metadata_props}
    again = export(module, opset=opset, metadata=metadata)
    return again != model
