"""lora: add low-rank adapters to the products with some weights.

A product y = x W becomes x W + s (x A) B with s = alpha / rank. The adapters are weights of their own: A
[inputs, rank], named `<weight>.lora_a`, begins with random numbers, and B [rank, outputs], `<weight>.lora_b`,
with zeros, so that y is the same at first. W stays a constant. Adapters of half types are in float32.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import UsageError, location, name_of, position_of, several, suggest, usage
from dialects.support.dtypes import FLOATS, HALVES, known_dtype
from dialects.support.dtypes import name_of as dtype_name
from dialects.support.entry import entry_function
from dialects.support.names import hint_of, name_of_value
from dialects.support.option_names import advice, option
from dialects.support.shapes import element_type_of, has_rank, static_shape
from passes.autodiff.named_values import values_by_name
from passes.builder.locations import place_at
from passes.builder.operands import replace_uses
from passes.builder.values import Builder

RANK = 8
"""Default rank."""


@dataclass(frozen=True)
class Adapter:
    """The adapter of a weight. `sizes`: inputs and outputs of the product. `is_transposed`: the weight is
    stored as [outputs, inputs]. `scale`: alpha / rank. `dtype`: of A and B."""

    weight: str
    sizes: tuple[int, int]
    rank: int
    scale: float
    dtype: np.dtype
    is_transposed: bool = False

    @property
    def a(self) -> str:
        return f"{self.weight}.lora_a"

    @property
    def b(self) -> str:
        return f"{self.weight}.lora_b"

    def initial(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return the first values of A, uniform up to 1 / sqrt(inputs), and of B, zeros.

        A depends on the seed and the name of the weight only.
        """
        inputs, outputs = self.sizes
        rng = np.random.default_rng([seed, zlib.crc32(self.weight.encode())])
        bound = inputs**-0.5 if inputs else 0
        a = rng.uniform(-bound, bound, (inputs, self.rank))
        return {self.a: a.astype(self.dtype), self.b: np.zeros((self.rank, outputs), self.dtype)}

    def merge(self, weight: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the weight plus scale A B, in its type and layout.

        Raises UsageError for a weight of integers.
        """
        if weight.dtype.kind in "iub":
            hint = "the adapters of a quantized weight stay separate"
            raise usage(f"merged weight {self.weight}", known_dtype(weight.dtype).name, "floats", hint)
        product = self.scale * (a.astype(np.float64) @ b.astype(np.float64))
        merged = weight.astype(np.float64) + (product.T if self.is_transposed else product)
        return merged.astype(weight.dtype)


@dataclass(frozen=True)
class LoraPass(ModulePass):
    """Add low-rank adapters to the products with the weights of some names or patterns; none without them."""

    name = "lora"

    weights: tuple[str, ...] = ()
    rank: int = RANK
    alpha: float | None = None
    seed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.weights:
            add_adapters(entry_function(op), self.adapters(op), self.seed)

    def adapters(self, module: ModuleOp) -> list[Adapter]:
        """Return the adapters that the pass adds to a module of ONNX ops with inferred types."""
        return find_adapters(entry_function(module), self.weights, self.rank, self.alpha)


def find_adapters(
    function: FuncOp, weights: Sequence[str], rank: int = RANK, alpha: float | None = None
) -> list[Adapter]:
    """Return the adapters of weights by names and patterns. `alpha` is `rank` by default.

    A pattern selects the weights that can have an adapter: matrices that only MatMul and Gemm read, as their
    second operand. Raises UsageError for a name of another weight, and if nothing is selected.
    """
    if rank < 1:
        raise usage(option("rank"), rank, "1 or more")
    scale = 1.0 if alpha is None else alpha / rank
    constants = _named_constants(function)
    found, reasons = dict[str, Adapter](), dict[str, str]()
    for pattern in weights:
        for name in _matches(pattern, constants):
            sites = _sites(constants[name])
            if isinstance(sites, str):
                reasons[name] = sites
                if name == pattern:
                    raise _no_adapter(name, sites)
            elif name not in found:
                found[name] = _adapter(name, constants[name], sites, rank, scale)
    if not found:
        shown = several([f"{name} ({reason})" for name, reason in reasons.items()], most=4)
        raise usage("lora", f"no weight that can have an adapter: {shown or 'none is selected'}", "a matrix")
    _check_names(found.values(), values_by_name(function))
    return list(found.values())


def add_adapters(function: FuncOp, adapters: Sequence[Adapter], seed: int = 0) -> None:
    """Add adapters to the products of a function, in place."""
    constants = _named_constants(function)
    for adapter in adapters:
        weight = constants[adapter.weight]
        sites = _sites(weight)
        assert not isinstance(sites, str), sites
        e = Builder()
        values = [e.constant(array) for array in adapter.initial(seed).values()]
        for name, value in zip((adapter.a, adapter.b), values, strict=True):
            value.value.name_hint = hint_of(name)
            op = value.value.owner
            assert isinstance(op, Operation)
            op.location = location(name)
        Rewriter.insert_op(e.emit.ops, InsertPoint.after(weight))
        for site in sites:
            _graft(site.op, values[0].value, values[1].value, adapter.scale)


def merge_adapters(
    adapters: Sequence[Adapter], arrays: Mapping[str, np.ndarray], weights: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the merged weights by name. arrays: A and B by name. weights: the base weights by name."""
    return {one.weight: one.merge(weights[one.weight], arrays[one.a], arrays[one.b]) for one in adapters}


@dataclass(frozen=True)
class _Site:
    """A product that reads a weight; `is_transposed`: it multiplies by the transposed weight."""

    op: onnx.MatMulOp | onnx.GemmOp
    is_transposed: bool


def _named_constants(function: FuncOp) -> dict[str, onnx.ConstantOp]:
    constants = (op for op in function.body.block.ops if isinstance(op, onnx.ConstantOp))
    return {name: op for op in constants if (name := name_of_value(op.output))}


def _matches(pattern: str, constants: Mapping[str, onnx.ConstantOp]) -> list[str]:
    """Return the constants of a name or pattern. Raises UsageError if there are none."""
    if pattern in constants:
        return [pattern]
    found = [name for name in constants if fnmatchcase(name, pattern)]
    if not found:
        hint = suggest(pattern, constants) or "gradc weights lists the weights"
        raise usage(f"lora: no weight has the name {pattern}", hint=hint)
    return found


def _sites(weight: onnx.ConstantOp) -> list[_Site] | str:
    """Return the products that read a weight, or the reason why it cannot have an adapter."""
    shape = static_shape(weight.output)
    if shape is None or len(shape) != 2:
        return "no matrix"
    if not weight.output.first_use:
        return "unused"
    found = list[_Site]()
    for site in _products(weight.output):
        if isinstance(site, str):
            return site
        found.append(site)
    if not found:
        return "unused"
    if len({site.is_transposed for site in found}) > 1:
        return "read as it is and transposed"
    return found


def _products(matrix: SSAValue) -> Iterator[_Site | str]:
    """Yield the products that read a matrix, also through Transpose, Cast, Identity and DequantizeLinear, or
    the reason why one has no adapter."""
    waiting = [(use, False) for use in reversed(tuple(matrix.uses))]
    while waiting:
        use, is_transposed = waiting.pop()
        match use.operation:
            case onnx.TransposeOp() as op if op.onnx_attributes().get("perm", [1, 0]) == [1, 0]:
                waiting += [(other, not is_transposed) for other in reversed(tuple(op.results[0].uses))]
            case onnx.CastOp() | onnx.IdentityOp() as op:
                waiting += [(other, is_transposed) for other in reversed(tuple(op.results[0].uses))]
            case onnx.DequantizeLinearOp() as op if use.index == 0:
                waiting += [(other, is_transposed) for other in reversed(tuple(op.results[0].uses))]
            case onnx.MatMulOp() | onnx.GemmOp() as op if use.index == 1:
                turns = isinstance(op, onnx.GemmOp) and bool(op.call().attribute("transB", 0))
                if dtype_name(element_type_of(op.results[0])) not in FLOATS or not has_rank(op.operands[0]):
                    yield "of a product of integers or of unknown rank"
                yield _Site(op, is_transposed != turns)
            case op:
                kind = op.name.removeprefix("onnx.")
                yield f"read by {kind} {name_of(op)}".rstrip()


def _adapter(name: str, weight: onnx.ConstantOp, sites: Sequence[_Site], rank: int, scale: float) -> Adapter:
    first = sites[0]
    shape = static_shape(weight.output)
    assert shape is not None
    rows, columns = shape
    sizes = (columns, rows) if first.is_transposed else (rows, columns)
    if rank > min(sizes):
        raise usage(f"{option('rank')} of the adapter of {name}", rank, f"at most {min(sizes)}")
    type_ = element_type_of(first.op.results[0])
    dtype = np.dtype(np.float32) if dtype_name(type_) in HALVES else known_dtype(type_).numpy
    return Adapter(name, sizes, rank, scale, dtype, first.is_transposed)


def _graft(op: onnx.MatMulOp | onnx.GemmOp, a: SSAValue, b: SSAValue, scale: float) -> None:
    """Add scale x A B to the result of a product."""
    e, result = Builder(), op.results[0]
    x = e(op.operands[0])
    if isinstance(op, onnx.GemmOp):
        scale *= op.call().attribute("alpha", 1.0)
        x = x.transpose([1, 0]) if op.call().attribute("transA", 0) else x
    inner = x @ e(a).cast(x.dtype)
    inner = inner if scale == 1 else inner * scale
    total = e(result) + inner @ e(b).cast(x.dtype)
    Rewriter.insert_op(e.emit.ops, InsertPoint.after(op))
    add = total.value.owner
    assert isinstance(add, Operation)
    replace_uses(result, total.value, but_of=add)
    result.name_hint = None
    place_at(e.emit.ops, op, "lora", total.value)
    if name := name_of(op):
        op.location = location(f"{name}.base", position_of(op))


def _no_adapter(name: str, reason: str) -> UsageError:
    hint = advice("untie", "separates the readers of a weight") if "read" in reason else ""
    expected = "a matrix that only MatMul and Gemm read, as second operand"
    return usage(f"lora: weight {name}", reason, expected, hint)


def _check_names(adapters: Iterable[Adapter], values: Mapping[str, SSAValue]) -> None:
    """Raise UsageError if the model has a value named as an adapter."""
    taken = [name for one in adapters for name in (one.a, one.b) if name in values]
    if taken:
        raise usage(f"the model has a value named {taken[0]}", hint="it seems to have adapters already")
