"""Rewrites of imported nodes that have no op in the dialect: decompositions, and Gradient nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from dialects.onnx.node import NodeOp
from gradc.importers.onnx.rewrites import Rewrites, Rewritten
from passes.targets.spec import spec_of


def rewrites_of(for_gradients: Collection[str] | None, target: str) -> Rewrites:
    """Return the rewrites that a gradient or a target needs.

    A gradient decomposes the ops of other domains except those with user rules, which `for_gradients` names;
    without a gradient (None) only ops of domains that the target lacks are decomposed.
    """

    def decompose(node: NodeOp, of_model: Mapping[str, object]) -> Rewritten | None:
        domains = spec_of(target).decomposed_domains
        wanted = node.domain.data in domains if for_gradients is None else node.title not in for_gradients
        if not wanted:
            return None
        from passes.decompositions.contrib.decompose import decompose_node

        return decompose_node(node, of_model)

    return Rewrites(decompose, _differentiate)


def _differentiate(
    before: Sequence[Operation], named: Sequence[SSAValue], given: Sequence[SSAValue], count: int, y: SSAValue
) -> tuple[Sequence[Operation], Sequence[SSAValue]]:
    from passes.autodiff.preview import expand_gradient_node

    return expand_gradient_node(before, named, given, count, y)
