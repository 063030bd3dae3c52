"""accumulate: let a function add its gradients to sums that are inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region
from xdsl.passes import ModulePass

from dialects.support.dtypes import HALVES, known_dtype
from dialects.support.entry import (
    entry_function,
    input_names,
    output_names,
    return_op,
    set_names,
    set_new_names,
    update_function_type,
)
from dialects.support.names import hint_of
from dialects.support.shapes import element_type_of, tensor_type
from passes.autodiff.pin_values import set_results
from passes.builder.values import Builder
from passes.training.optimizer import NEW

COUNT = "count"
"""Name of the input with the number of added gradients, a float32 scalar."""

MEAN = "mean_"
"""Prefix of the mean of a gradient."""


@dataclass(frozen=True)
class AccumulatePass(ModulePass):
    """Add each of the results `gradients` to an input of its name, and return the sum as `new_<name>`.

    Sums of half types are in float32.
    """

    name = "accumulate"

    gradients: tuple[str, ...] = field(default=())

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        inputs, outputs, e = list(input_names(function)), list(output_names(function)), Builder()
        set_names(function, inputs, outputs)
        results = list(return_op(function).arguments)
        block = function.body.block
        for name in self.gradients:
            place = outputs.index(name)
            gradient = e(results[place])
            argument = block.insert_arg(sum_type(gradient.value.type), len(block.args))
            argument.name_hint = hint_of(name)
            total = e(argument) + gradient.cast(element_type_of(argument))
            total.value.name_hint = hint_of(NEW + name)
            inputs.append(name)
            results[place], outputs[place] = total.value, NEW + name
        set_results(function, e, results)
        set_new_names(function, inputs, outputs)
        update_function_type(function)


def sum_type(gradient: Attribute) -> TensorType:
    """Return the type of the sum of gradients of a type."""
    assert isinstance(gradient, TensorType)
    dtype = f32 if known_dtype(gradient.element_type).name in HALVES else gradient.element_type
    return tensor_type(dtype, gradient.get_shape())


def mean_of_sums(parameters: Mapping[str, TensorType], gradients: Mapping[str, str]) -> ModuleOp:
    """Return a function of parameters, sums of gradients and their count, with a result `mean_<gradient>`
    for each parameter, which the optimizer replaces by the new parameter."""
    types = [*parameters.values(), *(sum_type(parameters[name]) for name in gradients), tensor_type(f32, ())]
    names = [*parameters, *gradients.values(), COUNT]
    block, e = Block(arg_types=types), Builder()
    values = dict(zip(names, block.args, strict=True))
    for name, value in values.items():
        value.name_hint = hint_of(name)
    count = e(values[COUNT])
    means = [e(values[name]) / count.cast(element_type_of(values[name])) for name in gradients.values()]
    block.add_ops([*e.emit.ops, ReturnOp(*(mean.value for mean in means))])
    function = FuncOp(
        "main", FunctionType.from_lists(types, [mean.value.type for mean in means]), Region(block)
    )
    set_names(function, names, [MEAN + name for name in gradients.values()])
    return ModuleOp([function])
