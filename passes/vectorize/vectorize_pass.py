"""vectorize: give inputs a new leading axis, and compute the results for all rows along it in one run."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from dialects.support.entry import entry_function, input_names, output_names
from passes.vectorize.vectorize import vectorize


@dataclass(frozen=True)
class VectorizePass(ModulePass):
    """Give `inputs` a leading axis of `size`, a number or a name; results get it, except those of `shared`,
    which must not depend on these inputs. Without inputs, nothing changes."""

    name = "vectorize"

    inputs: tuple[str, ...] = ()
    size: int | str = 1
    shared: tuple[str, ...] = ()
    strict_ieee: bool = False

    fallbacks: list[Operation] = field(default_factory=list[Operation], init=False, repr=False, compare=False)
    """The ops that are computed row by row."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.inputs:
            return
        function = entry_function(op)
        named = dict(zip(input_names(function), function.args, strict=True))
        found = vectorize(
            function,
            [named[name] for name in self.inputs],
            self.size,
            expand=[name not in self.shared for name in output_names(function)],
            strict_ieee=self.strict_ieee,
        )
        self.fallbacks.extend(found.fallbacks)
