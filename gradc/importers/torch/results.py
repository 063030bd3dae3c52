"""The results of a captured function: their tensors and names."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from dialects.support.diagnostics import usage
from gradc.importers.torch import refusals
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.arguments import path_name, unique
from gradc.importers.torch.torch_internals import torch

WITHOUT_TENSORS = (type(None), str, bytes, complex, Enum, torch.dtype, torch.device, torch.Size, torch.layout)
"""Types of results that hold no tensors, and of which a model has no result."""


def output_leaves(
    result: Any, output_names: Sequence[str] | None, location: str = ""
) -> list[tuple[str, Any]]:
    """Return name and tensor of each result, in the order of torch's pytree.

    Raises the error, at the location of the function, of results in which tensors would be lost.
    """
    paths, _ = internals.pytree.tree_flatten_with_path(result)
    results = [(path, torch.tensor(x) if isinstance(x, bool | int | float) else x) for path, x in paths]
    found = [(path, leaf) for path, leaf in results if isinstance(leaf, torch.Tensor)]
    for _, leaf in results:
        if not isinstance(leaf, (torch.Tensor, *WITHOUT_TENSORS)):
            raise refusals.lost_result(type(leaf).__name__, location)
    if not found:
        raise refusals.no_tensors(location)
    names = unique([path_name("output", path) if path else "output" for path, _ in found])
    names = [name.removeprefix("output_") if name[7:8].isalpha() else name for name in names]
    if output_names is not None:
        if len(output_names) != len(found):
            raise usage("output_names", given=f"{len(output_names)} names", expected=f"{len(found)}")
        names = list(output_names)
    return [(name, leaf) for name, (_, leaf) in zip(names, found, strict=True)]
