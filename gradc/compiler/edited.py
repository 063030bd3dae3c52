"""A compiled model that somebody has changed since: what a runtime refuses of it then is not our fault."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dialects.support.diagnostics import Diagnostic, GradcError
from gradc.faults.crash import one_line

if TYPE_CHECKING:
    from gradc.compiler.driver import Compiled


@contextlib.contextmanager
def blamed_on_edits(compiled: Compiled) -> Iterator[None]:
    """An exception of what reads the model, as a GradcError where the model is not what was compiled."""
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        if not _is_edited(compiled):
            raise
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        what = f"model was changed after it was compiled, and is no good any more: {one_line(cause)}"
        raise GradcError(Diagnostic("error", what)) from error


def _is_edited(compiled: Compiled) -> bool:
    """Compared with what the module, which nobody changes, is written as."""
    from gradc.model.exporter import export

    metadata = {entry.key: entry.value for entry in compiled.model.metadata_props}
    again = export(compiled.module, opset=compiled.options.resolved().opset, metadata=metadata)
    return again != compiled.model
