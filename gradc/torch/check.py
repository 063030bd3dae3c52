"""Comparison of an exported model with the function itself, at the example and at other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dialects.support.diagnostics import Diagnostic, GradcError, Position, several
from gradc.compiler.compiled import Compiled
from gradc.importers.torch.captured import CapturedGraph
from gradc.importers.torch.elements import array_of, as_real
from gradc.importers.torch.module import NEW
from gradc.importers.torch.refusals import position_from
from gradc.importers.torch.torch_internals import location_of_function, torch
from gradc.torch.blame import first_difference
from gradc.torch.eager import Eager
from gradc.torch.samples import Sample, at_sizes, example, other_sizes
from gradc.torch.signs import depends_on_signs, has_vectors
from gradc.verification.gradient_spec import CheckError

BOUNDS = {torch.float64: 1e-9, torch.float32: 2e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Largest error of a result relative to its norm, by dtype."""

ROUNDINGS = 20
"""How many times as far from float64 as torch itself a result may be."""

SIGNS = (
    "eigenvectors and singular vectors are known up to their signs, which are arbitrary; return what does "
    "not depend on them, such as v * v.sum(0).sign()"
)

OTHERS = 2
"""How many larger sizes are compared."""


@dataclass(frozen=True)
class Difference:
    """A result that differs from the function's: its name, its error and the bound, relative to its norm."""

    name: str
    error: float
    bound: float
    sample: Sample


@dataclass(frozen=True)
class Exported:
    """A model to compare: the captured graph, its parameters and buffers by name, and the function."""

    compiled: Compiled
    graph: CapturedGraph
    state: Mapping[str, np.ndarray]
    eager: Eager
    results: Mapping[str, str] | None = None
    """Key of a result in `Eager.run` -> name of the model's result; None for the usual ones."""

    def pairs(self) -> Mapping[str, str]:
        """Return key of each result -> name of the model's."""
        if self.results is not None:
            return self.results
        outputs = {str(index): output.name for index, output in enumerate(self.graph.outputs)}
        return outputs | {name: NEW + name for name in self.graph.updates}

    def inputs(self, sample: Sample) -> dict[str, np.ndarray]:
        """Return a value for each input of the graph."""
        given = [one.name for one in self.graph.inputs if one.kind == "argument"]
        arrays = {name: array_of(each) for name, each in zip(given, sample.tensors, strict=True)}
        return {
            **{one.name: self.state[one.name] for one in self.graph.inputs if one.name not in arrays},
            **arrays,
        }

    def run(self, sample: Sample) -> dict[str, np.ndarray]:
        """Run the model."""
        named = {info.name for info in (*self.compiled.inputs, *self.compiled.optional_inputs)}
        return self.compiled.run({n: a for n, a in self.inputs(sample).items() if n in named})


def check_export(exported: Exported) -> list[Diagnostic]:
    """Compare; return remarks on sizes that could not be compared, and on differences for empty arguments.
    Raises CheckError for any other difference.

    A function that fails at some larger sizes may run at 1 by accident, where the model fails: a remark, too.
    """
    arguments, compared = exported.eager.arguments, list[str]()
    remarks: list[Diagnostic] = []
    fails_at_some = False
    compare(exported, example(arguments))
    _check_signs(exported, example(arguments))
    for seed, sizes in enumerate(other_sizes(arguments.dynamic)):
        is_edge = min(sizes.values()) <= 1
        if len(compared) >= OTHERS and not is_edge:
            continue
        sample = at_sizes(arguments, sizes, seed)
        try:
            exported.eager.run(sample.tensors)
        except Exception:  # whatever the function raises: it has no result at these sizes
            fails_at_some = True
            continue
        try:
            compare(exported, sample)
        except GradcError as error:
            is_accident = fails_at_some and is_edge and not isinstance(error, CheckError)
            if min(sizes.values()) > 0 and not is_accident:
                raise error if isinstance(error, CheckError) else _at(error, sample) from None
            remarks.append(error.diagnostic.with_severity("remark"))
        compared.append(str(sample))
    if not arguments.dims or compared:
        return remarks
    text = "compared with the function at the sizes of the example only: it fails at all others tried"
    return [Diagnostic("remark", text)]


def _at(error: GradcError, sample: Sample) -> GradcError:
    """Return the error of a run of the model with the sizes of the run."""
    text = f"{error.diagnostic.message}, at {sample}; torch.export.Dim(name, min=, max=) leaves out sizes"
    return GradcError(replace(error.diagnostic, message=text))


def compare(exported: Exported, sample: Sample) -> None:
    """Compare the model with the function for one sample. Raises CheckError."""
    narrow, wide = exported.eager.run(sample.tensors), exported.eager.run_wide(sample.tensors)
    found = exported.run(sample)
    _check_unchanged(exported, sample, narrow)
    for key, name in exported.pairs().items():
        reference = narrow[key] if wide is None else wide[key]
        difference = _difference(name, found[name], narrow[key], reference, sample)
        if difference is not None and not _is_noise(exported, sample, found[name], key, narrow):
            raise CheckError(_describe(difference, exported))


def _is_noise(
    exported: Exported, sample: Sample, found: np.ndarray, key: str, narrow: Mapping[str, Any]
) -> bool:
    """Return whether a float64 result differs by roundings of torch's own, as a gradient of 0 does: it is
    small beside all results, and within `ROUNDINGS` of the change by scaled inputs."""
    own = as_real(narrow[key])
    if own.dtype is not torch.float64 or tuple(found.shape) != tuple(own.shape):
        return False
    error = float(np.linalg.norm(_float64(found) - _float64(own)))
    norms = [float(np.linalg.norm(_float64(as_real(one)))) for one in narrow.values()]
    if not error <= BOUNDS[own.dtype] * max(norms):
        return False
    scaled = as_real(exported.eager.run_scaled(sample.tensors)[key])
    return error <= ROUNDINGS * float(np.linalg.norm(_float64(scaled) - _float64(own)))


def _check_signs(exported: Exported, sample: Sample) -> None:
    """Raise the error of results that depend on signs of vectors, which may agree by chance."""
    graph = exported.graph
    if has_vectors(graph) and depends_on_signs(graph, exported.inputs(sample), sample.sizes):
        raise CheckError(
            Diagnostic("error", f"a result depends on signs: {SIGNS}", position=_position_of(exported))
        )


def _check_unchanged(exported: Exported, sample: Sample, after: Mapping[str, Any]) -> None:
    """Raise the error of arguments and state that the function changes, and the model does not."""
    before = exported.inputs(sample)
    changed = [
        name
        for name, array in before.items()
        if name not in exported.graph.updates
        and name in after
        and array_of(after[name]).tobytes() != array.tobytes()
    ]
    if changed:
        text = f"the function changes {several(changed)} in place, and the model has no new value for it"
        raise CheckError(Diagnostic("error", text, position=_position_of(exported)))


def _difference(name: str, found: np.ndarray, narrow: Any, wide: Any, sample: Sample) -> Difference | None:
    narrow, wide = as_real(narrow), as_real(wide)
    if tuple(found.shape) != tuple(narrow.shape):
        return Difference(name, float("inf"), 0, sample)
    if narrow.dtype not in BOUNDS:
        wrong = float(np.mean(found != array_of(narrow))) if found.size else 0.0
        return Difference(name, wrong, 0, sample) if wrong else None
    got, own, want = (_float64(each) for each in (found, narrow, wide))
    finite = np.isfinite(own) & np.isfinite(want)
    same = np.array_equal(np.isnan(got[~finite]), np.isnan(own[~finite]))
    scale = float(np.linalg.norm(want[finite])) or 1.0
    error = float(np.linalg.norm((got - want)[finite])) / scale if same else float("inf")
    rounding = float(np.linalg.norm((own - want)[finite])) / scale
    bound = max(BOUNDS[narrow.dtype], ROUNDINGS * rounding)
    return None if error <= bound else Difference(name, error, bound, sample)


def _float64(value: Any) -> np.ndarray:
    return np.asarray(array_of(value) if isinstance(value, torch.Tensor) else value).astype(np.float64)


def _describe(difference: Difference, exported: Exported) -> Diagnostic:
    sample = difference.sample
    is_empty = 0 in sample.sizes.values()  # torch's kernels may end the process for tensors of no elements
    inputs = exported.inputs(sample)
    op = (
        None
        if is_empty
        else first_difference(exported.graph, exported.compiled.options, inputs, sample.sizes)
    )
    text = (
        f"result {difference.name} differs from the function's by {difference.error:.1e} of its norm, "
        f"expected at most {difference.bound:.1e}, at {sample}"
    )
    if is_empty:
        return Diagnostic("error", text, position=_position_of(exported))
    if 1 in sample.sizes.values():
        text += "; torch.export.Dim(name, min=2) leaves out the size 1"
    if op is None:
        return Diagnostic("error", f"{text}; {_reason(exported)}", position=_position_of(exported))
    position = position_from(op.location)
    return Diagnostic("error", f"{text}; this op is the first to differ", f"aten.{op.op}", position)


def _reason(exported: Exported) -> str:
    """Return why results may differ of which no op differs."""
    if has_vectors(exported.graph):
        return f"no single op differs, but {SIGNS}"
    given = exported.eager.arguments.tensors
    strided = [leaf.name for leaf in given if not leaf.tensor.is_contiguous()]
    if not strided:
        return "no single op differs, so a later pass is to blame"
    verb = "is" if len(strided) == 1 else "are"
    return (
        f"no single op differs, but {several(strided)} {verb} not contiguous, as inputs of a model are: "
        "the function depends on strides, or a later pass is to blame"
    )


def _position_of(exported: Exported) -> Position | None:
    """Return the position of the function's definition."""
    return position_from(location_of_function(exported.eager.function))
