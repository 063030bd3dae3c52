"""xDSL context that creates op classes of large dialects on first use."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields

from xdsl.context import Context
from xdsl.ir import Operation


def _onnx_op(name: str) -> type[Operation] | None:
    from dialects.onnx import lookup_op

    return lookup_op(name)


def _onednn_op(name: str) -> type[Operation] | None:
    from dialects.onednn import op_class

    return op_class(f"onednn.{name}")


def _aten_op(name: str) -> type[Operation] | None:
    from dialects.aten.ops import is_known, op_class

    return op_class(name) if is_known(name) else None


LAZY: dict[str, Callable[[str], type[Operation] | None]] = {
    "onnx": _onnx_op,
    "onednn": _onednn_op,
    "aten": _aten_op,
}
"""Large dialects -> function from an op's name to its class."""


class LazyContext(Context):
    """Creates the op classes of the dialects in `LAZY` when their names are looked up."""

    def clone(self) -> Context:
        return LazyContext(**{field.name: copy(getattr(self, field.name)) for field in fields(self)})

    def load_registered_dialect(self, name: str) -> None:
        if name not in LAZY:
            super().load_registered_dialect(name)
            return
        dialect = self._registered_dialects[name]()
        self._loaded_dialects[name] = dialect
        for attribute in dialect.attributes:
            self.load_attr_or_type(attribute)

    def _get_known_op(self, name: str) -> type[Operation] | None:
        prefix, _, kind = name.partition(".")
        if prefix not in LAZY or name in self._loaded_ops:
            return super()._get_known_op(name)
        found = LAZY[prefix](kind)
        if found is not None:
            self._loaded_ops[name] = found
        return found
