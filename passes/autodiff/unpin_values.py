"""unpin-values: the end of a gradient pipeline; what is left of the request goes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from dialects.support.entry import entry_function, update_function_type
from passes.autodiff.activity.non_differentiable import unmark_ruled
from passes.autodiff.activity.straight_through_patterns import unmark_estimates
from passes.autodiff.pin_values import pinned_constants, release
from passes.autodiff.rules.norm import unmark_centred
from passes.autodiff.rules.quantize import unmark_pairs
from passes.builder.rewriting import REQUEST, drop_unread_nodes


@dataclass(frozen=True)
class UnpinValuesPass(ModulePass):
    name = "unpin-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        drop_unread_nodes(function)
        for unmark in (unmark_pairs, unmark_estimates, unmark_ruled, unmark_centred):
            unmark(op)
        release(function, pinned_constants(function))
        function.attributes.pop(REQUEST, None)
        update_function_type(function)
