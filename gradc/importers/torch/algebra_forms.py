"""Least squares and distances of pairs by functions whose shapes depend on no values."""

from __future__ import annotations

from typing import Any

from gradc.importers.torch.torch_internals import FunctionMode, torch


def least_squares(
    matrix: Any, given: Any = None, rcond: Any = None, *, driver: Any = None, B: Any = None
) -> Any:
    """Return `torch.linalg.lstsq` by the pseudo-inverse: of all solutions the shortest, as torch's.

    The residuals are those of matrices with independent columns.
    """
    given = B if given is None else given
    is_vector = matrix.dim() - 1 == given.dim() and matrix.shape[:-1] == given.shape
    right = given.unsqueeze(-1) if is_vector else given
    solution = torch.linalg.pinv(matrix, rtol=rcond) @ right
    rows, columns = matrix.shape[-2:]
    empty = matrix.new_empty(0)
    has_residuals = rows > columns and driver not in (None, "gelsy")
    residuals = (matrix @ solution - right).square().sum(-2) if has_residuals else empty
    has_rank = driver != "gels"
    rank = torch.linalg.matrix_rank(matrix, rtol=rcond) if has_rank else empty.to(torch.int64)
    values = torch.linalg.svdvals(matrix) if driver in ("gelsd", "gelss") else empty
    solution = solution.squeeze(-1) if is_vector else solution
    residuals = residuals.squeeze(-1) if is_vector and has_residuals else residuals
    return torch.return_types.linalg_lstsq((solution, residuals, rank, values))


def distances_of_pairs(points: Any, p: float = 2.0) -> Any:
    """Return `torch.pdist` as the distances of points, each a set of its own."""
    size = points.shape[0]
    first, second = torch.triu_indices(size, size, 1).unbind(0)
    found = torch.cdist(points[first].unsqueeze(1), points[second].unsqueeze(1), p)
    return found.reshape(-1)


PAIRS = (torch.pdist, torch.nn.functional.pdist)
"""Functions whose backward kernel reads memory that no tensor has for no points."""


class SafeKernels(FunctionMode):
    """Replaces the kernels of torch that end the process for tensors without elements."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in PAIRS and isinstance(args[0], torch.Tensor) and not args[0].numel():
            return distances_of_pairs(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))
