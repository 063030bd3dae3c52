"""Simplification of a graph: smaller sizes of inputs, plain attributes, plain dtypes.

Inputs and attributes are changed, and inference updates the results. Ops that state sizes are adjusted
(`_REFIT`). The copy may be invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from dialects.cann.resize import UpsampleBilinear2dBackwardOp
from dialects.grad.geometry import Window
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp, ConvolutionBackwardDataProblem
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.support import entry, layouts, shapes
from dialects.support.attributes import FLOATS, ints_attribute
from dialects.support.documented_op import DocumentedOp
from dialects.support.interfaces import InfersTypes, set_type
from dialects.support.shapes import Dim
from gradc.reduction.graphs import operations, refresh

Attributes = Mapping[str, Attribute | None]
"""New properties of an op; None removes one."""


def input_types(module: ModuleOp) -> list[TensorType]:
    types = [argument.type for argument in entry.entry_function(module).args]
    return [type_ for type_ in types if isinstance(type_, TensorType)]


def with_types(module: ModuleOp, types: Sequence[TensorType]) -> ModuleOp:
    """Set the types of the inputs."""
    copy = module.clone()
    function = entry.entry_function(copy)
    for argument, type_ in zip(function.args, types, strict=True):
        set_type(argument, type_)
    _infer(module, copy, set())
    return copy


def with_attributes(module: ModuleOp, number: int, attributes: Attributes) -> ModuleOp:
    """Set attributes of the op with this number."""
    copy = module.clone()
    op = operations(copy)[number]
    for name, value in attributes.items():
        if value is None:
            del op.properties[name]
        else:
            op.properties[name] = value
    _infer(module, copy, {number})
    return copy


def without_discardable(module: ModuleOp, number: int) -> ModuleOp:
    """Remove the discardable attributes of the op with this number."""
    copy = module.clone()
    operations(copy)[number].attributes.clear()
    return copy


def _infer(before: ModuleOp, after: ModuleOp, changed: Set[int]) -> None:
    """Infer the result types of all ops that changed or read a change."""
    for number, (old, new) in enumerate(zip(operations(before), operations(after), strict=True)):
        same = list(old.operand_types) == list(new.operand_types) and number not in changed
        if same or not isinstance(new, InfersTypes):
            continue
        if isinstance(new, DocumentedOp):
            _refit(old, new)
        for result, type_ in zip(new.results, new.infer_result_types(), strict=True):
            if type_ is not None:
                set_type(result, type_)
    refresh(entry.entry_function(after))


def _refit(old: Operation, new: DocumentedOp) -> None:
    for result in new.results:
        shape = shapes.shape_of(result)
        set_type(result, shapes.tensor_type(_element_type(new), [None] * len(shape)))
    for cls, refit in _REFIT.items():
        if isinstance(new, cls):
            refit(old, new)


def _element_type(op: DocumentedOp) -> Attribute:
    return shapes.element_type_of(op.operands[0])


def _refit_convolution(old: ConvolutionBackwardDataOp, new: ConvolutionBackwardDataOp) -> None:
    """Choose a size of diff_src that keeps the previous residue, if the stride permits it."""
    if new.has_runtime_shape:
        return
    problem = old.problem()
    batch, _, *dst = layouts.reorder(shapes.shape_of(new.diff_dst), new.value("data_format"), "NCX")
    weights = layouts.reorder(shapes.shape_of(new.weights), new.value("weights_format"), "OIX")
    _, per_group, *kernel = _with_dynamic_index(weights)
    src = [_fitting(new, problem, *axis) for axis in enumerate(zip(new.windows(kernel), dst, strict=True))]
    sizes = (batch, per_group * new.value("groups"), *src)
    shape = layouts.reorder(sizes, "NCX", new.value("data_format"))
    if new.is_given("dst_shape") or new.dst_shape_input is not None:
        new.properties["dst_shape"] = ints_attribute(_with_dynamic_index(shape))
    new.operands = new.operands[:2]
    set_type(new.diff_src, shapes.tensor_type(_element_type(new), shape))


def _fitting(
    op: ConvolutionBackwardDataOp,
    before: ConvolutionBackwardDataProblem,
    axis: int,
    window_and_size: tuple[Window, Dim],
) -> Dim:
    """Return a size of diff_src that gives Y."""
    window, y = window_and_size
    x, pads = before.src[axis], before.pads[axis]
    if not isinstance(y, int):
        return x
    if op.is_same:
        return y * window.stride
    residue = before.windows[axis].residue(x, *pads) if isinstance(x, int) and pads is not None else 0
    return max(window.input_size(y, *op.explicit_pads()[axis], min(residue, window.stride - 1)), 1)


def _refit_interpolation(old: Operation, new: InterpolateBackwardOp) -> None:
    src, dst = (new.spatial(shapes.shape_of(value)) for value in (new.src, new.diff_dst))
    if new.is_given("sizes") and shapes.is_static(dst):
        new.properties["sizes"] = ints_attribute(_with_dynamic_index(dst))
    if new.is_given("scales") and shapes.is_static((*src, *dst)):
        ratios = [y / x for x, y in zip(_with_dynamic_index(src), _with_dynamic_index(dst), strict=True)]
        new.properties["scales"] = FLOATS.encode(ratios)


def _refit_upsampling(old: UpsampleBilinear2dBackwardOp, new: UpsampleBilinear2dBackwardOp) -> None:
    """Scale the result in proportion to gradOut."""
    form = new.value("format")
    batch, channels, *grad = layouts.reorder(shapes.shape_of(new.grad_out), form, "NCHW")
    _, _, *image = layouts.reorder(old.input_shape(), form, "NCHW")
    rows = zip(_with_dynamic_index(image), old.value("outputSize"), _with_dynamic_index(grad), strict=True)
    sizes = (batch, channels, *(max(round(x * y / was), 1) for x, was, y in rows))
    new.properties["outputSize"] = ints_attribute(_with_dynamic_index(grad))
    new.properties["inputSize"] = ints_attribute(_with_dynamic_index(layouts.reorder(sizes, "NCHW", form)))


def _with_dynamic_index(shape: Sequence[Dim]) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in shape)


_REFIT: Mapping[type, Callable[..., None]] = {
    ConvolutionBackwardDataOp: _refit_convolution,
    InterpolateBackwardOp: _refit_interpolation,
    UpsampleBilinear2dBackwardOp: _refit_upsampling,
}
