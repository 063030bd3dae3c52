"""Detection of user changes to a compiled model."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError
from gradc.crash_reports.crash import one_line

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto


def digest(model: ModelProto, large: Collection[str]) -> bytes:
    """Return a hash of the model without the elements of the `large` weights; about 1 us per node."""
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
def report_edits(model: ModelProto | None, module: ModuleOp, opset: int) -> Iterator[None]:
    """Turn an exception into a GradcError if the model differs from the module's export.

    The model is None if the user never had it.
    """
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        if model is None or not _is_edited(model, module, opset):
            raise
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        what = f"model was changed after compilation and is now invalid: {one_line(cause)}"
        raise GradcError(Diagnostic("error", what)) from error


def _is_edited(model: ModelProto, module: ModuleOp, opset: int) -> bool:
    """Return whether the model differs from the export of the module, which users do not change."""
    from gradc.model.exporter import export

    metadata = {entry.key: entry.value for entry in model.metadata_props}
    again = export(module, opset=opset, metadata=metadata)
    return again != model
