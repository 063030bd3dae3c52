"""Faults of the reverse walk, of control flow and recurrent ops, and of what happens before and after it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
from onnx import numpy_helper
from support.faults.fault import FAULTS, Fault, Patch, fault
from support.faults.moved import cut, late
from xdsl.dialects.builtin import ModuleOp

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.onnx.values import constant_of
from gradc.model import exporter
from passes import fold_affine
from passes.autodiff import vjp
from passes.autodiff.control_flow import steps
from passes.autodiff.rules import activations, quantize, recurrent_steps
from passes.autodiff.vjp import Walk
from passes.builder.values import Value

# Sums of contributions


def _changed_total(patch: Patch, change) -> None:
    right = Walk._total

    def wrong(self, value):
        if len(self.cotangents[value]) > 1:
            self.cotangents[value] = change(self.cotangents[value])
        return right(self, value)

    patch.setattr(Walk, "_total", wrong)


FAN_OUTS = ("resnet", "encoder", "densenet", "unet", "causal", "mlp", "physics", "masked")


@fault("", *FAN_OUTS)
def last_contribution_lost(patch: Patch) -> None:
    _changed_total(patch, lambda found: found[:-1])


@fault("", *FAN_OUTS)
def first_contribution_lost(patch: Patch) -> None:
    _changed_total(patch, lambda found: found[1:])


@fault("", *FAN_OUTS, "siamese", "branches")
def contribution_counted_twice(patch: Patch) -> None:
    _changed_total(patch, lambda found: [*found, found[0]])


@fault("", "divided")
def cotangents_of_two_results_swapped(patch: Patch) -> None:
    right = Walk.gradients

    def wrong(self, seeds):
        seeds = list(seeds)
        if len(seeds) > 1 and len({seed.value.type for _, seed in seeds[:2]}) == 1:
            (a, one), (b, two), *others = seeds
            seeds = [(a, two), (b, one), *others]
        return right(self, seeds)

    patch.setattr(Walk, "gradients", wrong)


@fault("Add|Mul|Sub|Div|Pow|MatMul|LayerNormalization", "encoder", "mlp", "masked", "reduced", "open_sizes")
def mean_for_sum_in_unbroadcasting(patch: Patch) -> None:
    right = vjp.unbroadcast

    def wrong(gradient, operand, e):
        found = right(gradient, operand, e)
        return found if found is gradient else found * 0.5

    patch.setattr(vjp, "unbroadcast", wrong)


@fault("Add|Mul|Sub|Div|Pow|MatMul|LayerNormalization", "encoder", "mlp", "masked", "branches")
def unbroadcasting_takes_the_first(patch: Patch) -> None:
    right = vjp.unbroadcast

    def wrong(gradient, operand, e):
        if gradient.rank <= operand.rank:
            return right(gradient, operand, e)
        return right(_only_first(gradient), operand, e)

    def _only_first(x):
        zeros = cut(x, 1, TO_THE_END, 0) * 0.0
        parts = [cut(x, 0, 1, 0).value, zeros.value]
        return x.e(x.e.emit(onnx.ConcatOp(parts, axis=0))).assume_shape(x.shape)

    patch.setattr(vjp, "unbroadcast", wrong)


# Control flow


def _changed_region_rule(patch: Patch, op: str, change) -> None:
    right = vjp.REGION_RULES[op]

    def wrong(f, g, e):
        first = len(e.emit.ops)
        found = list(right(f, g, e))
        return change(found, e.emit.ops[first:], e)

    patch.setattr(vjp, "REGION_RULES", MappingProxyType({**vjp.REGION_RULES, op: wrong}))


@fault("If", "branches")
def branches_of_if_swapped(patch: Patch) -> None:
    def change(found, made, e):
        for op in made:
            if isinstance(op, onnx.IfOp):
                one, two = (region.detach_block(region.block) for region in op.regions)
                op.regions[0].add_block(two)
                op.regions[1].add_block(one)
        return found

    _changed_region_rule(patch, "If", change)


@fault("If", "branches")
def value_that_a_branch_reads_forgotten(patch: Patch) -> None:
    _changed_region_rule(patch, "If", lambda found, made, e: found[:1])


@fault("Loop", "loop")
def one_trip_fewer(patch: Patch) -> None:
    right = steps._Reverse._slices

    def wrong(self, block):
        found = right(self, block)
        return [replace(one, value=cut(self.e(one.value), 1, TO_THE_END, one.axis).value) for one in found]

    patch.setattr(steps._Reverse, "_slices", wrong)


@fault("Scan|Loop", "scan", "loop")
def carried_state_one_step_off(patch: Patch) -> None:
    right = steps._Reverse._kept

    def wrong(self, one):
        found = right(self, one)
        return replace(found, value=late(self.e(found.value), 0).value)

    patch.setattr(steps._Reverse, "_kept", wrong)


@fault("Scan", "scan")
def steps_in_the_same_direction(patch: Patch) -> None:
    right = steps._Reverse._slices

    def wrong(self, block):
        return [replace(one, direction=1 - one.direction) for one in right(self, block)]

    patch.setattr(steps._Reverse, "_slices", wrong)


@fault("Scan|Loop", "scan", "loop")
def value_from_around_twice(patch: Patch) -> None:
    def change(found, made, e):
        (value, gradient), *others = reversed(found)
        return [*others, (value, gradient * 2.0)]

    for op in ("Scan", "Loop"):
        _changed_region_rule(patch, op, change)


@fault("Scan|Loop", "scan", "loop")
def first_state_forgotten(patch: Patch) -> None:
    for op in ("Scan", "Loop"):
        _changed_region_rule(patch, op, lambda found, made, e: found[1:])


# Recurrent ops


@fault("LSTM|GRU|RNN", "lstm", "gru", "rnn")
def hidden_state_one_step_off(patch: Patch) -> None:
    patch.setattr(recurrent_steps.Steps, "before", property(lambda self: self.y))


@fault("LSTM", "lstm")
def cell_state_one_step_off(patch: Patch) -> None:
    patch.setattr(recurrent_steps.Steps, "shift_states", lambda self, states, first: states)


@fault("LSTM|GRU", "lstm", "gru")
def last_state_s_cotangent_forgotten(patch: Patch) -> None:
    right = recurrent_steps.Steps.backward

    def wrong(self, step, factors):
        return right(replace(self, last=[None] * len(self.last)), step, factors)

    patch.setattr(recurrent_steps.Steps, "backward", wrong)


@fault("LSTM|GRU|RNN", "lstm", "gru", "rnn")
def recurrent_bias_twice(patch: Patch) -> None:
    right = recurrent_steps.Steps.of_weights

    def wrong(self, of_x, of_h):
        found = right(self, of_x, of_h)
        return {**found, recurrent_steps.B: found[recurrent_steps.B] * 2.0}

    patch.setattr(recurrent_steps.Steps, "of_weights", wrong)


@fault("LSTM|GRU|RNN", "lstm", "gru", "rnn")
def slope_of_gates_one_per_cent_off(patch: Patch) -> None:
    right = activations.Applied._slope
    patch.setattr(activations.Applied, "_slope", lambda self, factor: right(self, factor) * 1.01)


# Second derivatives


@fault("Conv|ConvTranspose|conv_backward_data|conv_backward_weights", "conv_twice")
def derivative_of_a_convolution_s_gradient_off(patch: Patch) -> None:
    def changed(right):
        def wrong(f, g, e):
            return [one * 1.01 if isinstance(one, Value) else one for one in right(f, g, e)]

        return wrong

    rules = {name: changed(rule) for name, rule in vjp.GRADIENT_RULES.items() if "conv_backward" in name}
    patch.setattr(vjp, "GRADIENT_RULES", MappingProxyType({**vjp.GRADIENT_RULES, **rules}))


# Quantised models


@fault("QuantizeLinear|DequantizeLinear", "quantized")
def range_of_codes_ignored(patch: Patch) -> None:
    patch.setattr(vjp, "straight_through_gradient", lambda made, op, g, e: g.cast(e(made.operands[0]).dtype))


@fault("QuantizeLinear|DequantizeLinear", "quantized")
def straight_through_half(patch: Patch) -> None:
    right = quantize.straight_through_gradient
    patch.setattr(vjp, "straight_through_gradient", lambda *given: right(*given) * 0.5)


# Before the walk


def _changed_constants(module: ModuleOp, known: set[object], factor: float) -> None:
    """Multiply the float constants of a module that are new."""
    for op in list(module.walk()):
        value = constant_of(op.results[0]) if isinstance(op, onnx.ConstantOp) else None
        if value is None or op in known or value.dtype.kind != "f" or value.ndim == 0:
            continue
        new = onnx.ConstantOp((value * factor).astype(value.dtype))
        op.parent_block().insert_op_before(new, op)
        op.results[0].replace_all_uses_with(new.results[0])
        known.add(new)


@fault("", "resnet", "mobilenet")
def folded_weight_one_per_cent_off(patch: Patch) -> None:
    right = fold_affine.fold_affine

    def wrong(module, kept=(), wrt=()):
        known = set(module.walk())
        right(module, kept, wrt)
        _changed_constants(module, known, 1.01)

    patch.setattr(fold_affine, "fold_affine", wrong)


@fault("", "encoder", "sampled", "masked")
def factor_forgotten_before_the_walk(patch: Patch) -> None:
    """A product with a number is simplified to its operand."""
    right = fold_affine.fold_affine

    def wrong(module, kept=(), wrt=()):
        for op in list(module.walk()):
            if not isinstance(op, onnx.MulOp | onnx.DivOp):
                continue
            number = constant_of(op.operands[1])
            if number is not None and number.size == 1 and op.operands[0].type == op.results[0].type:
                op.results[0].replace_all_uses_with(op.operands[0])
                break
        right(module, kept, wrt)

    patch.setattr(fold_affine, "fold_affine", wrong)


# The model that is written


def _changed_model(patch: Patch, change) -> None:
    right = exporter.export_parts

    def wrong(module, **options):
        parts = right(module, **options)
        change(parts.proto.graph)
        return parts

    patch.setattr(exporter, "export_parts", wrong)


def _float_constants(graph):
    """Tensors of float constants and weights that have content."""
    tensors = [a.t for node in graph.node for a in node.attribute if a.name == "value"]
    return [t for t in (*tensors, *graph.initializer) if t.data_type == 1 and t.raw_data]


def _registered(kind: str, models: tuple[str, ...], change) -> None:
    FAULTS[kind] = Fault(kind, "", models, lambda patch: _changed_model(patch, change))


def _scalars_off(graph) -> None:
    for tensor in _float_constants(graph):
        array = numpy_helper.to_array(tensor)
        if array.size == 1 and abs(float(array.reshape(()))) not in (0.0, 1.0) and abs(array) < 1e6:
            tensor.raw_data = (array * np.float32(1.01)).tobytes()


def _weights_off(graph) -> None:
    inputs = {info.name for info in graph.input}
    for tensor in _float_constants(graph):
        if tensor.name not in inputs and len(tensor.dims) > 1:
            tensor.raw_data = (numpy_helper.to_array(tensor) * np.float32(1.01)).tobytes()
            return


def _sums_as_means(graph) -> None:
    for node in graph.node:
        if node.op_type == "ReduceSum":
            node.op_type = "ReduceMean" if len(node.input) < 2 else "ReduceMax"
            return


def _renamed(old: str, new: str):
    def change(graph) -> None:
        node = next((node for node in reversed(graph.node) if node.op_type == old), None)
        if node is not None:
            node.op_type = new

    return change


def _transpose_dropped(graph) -> None:
    """Of the last Transpose, whose result is read as if it were in order: sizes that differ do not run."""
    node = next((node for node in reversed(graph.node) if node.op_type == "Transpose"), None)
    if node is not None:
        node.op_type = "Identity"
        del node.attribute[:]


_registered("emitted_number_one_per_cent_off", ("encoder", "causal", "siamese", "resnet"), _scalars_off)
_registered("emitted_weight_one_per_cent_off", ("resnet", "densenet", "physics", "deep"), _weights_off)
_registered("emitted_sum_as_another", ("encoder", "mlp", "masked", "open_sizes"), _sums_as_means)
_registered("emitted_transpose_dropped", ("mlp", "turned", "einsums"), _transpose_dropped)
_registered("emitted_product_as_sum", ("mlp", "encoder", "siamese", "einsums"), _renamed("Mul", "Add"))
_registered("emitted_difference_as_sum", ("encoder", "mlp", "physics", "half"), _renamed("Sub", "Add"))
