"""Base classes of oneDNN Graph ops: dtype and rank checks, attributes of convolutions and pools."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from dialects.grad.geometry import Window, axis_letters
from dialects.support import dtypes, layouts, shapes, size_guards
from dialects.support.attributes import INT, INTS, defaulted, is_padding, optional, required, word
from dialects.support.diagnostics import Diagnostic, diagnostic_at
from dialects.support.documented_op import DocumentedOp
from dialects.support.interfaces import InfersOperands, Remarks
from dialects.support.shapes import Shape, element_type_of, shape_of

_ONNX_LAYOUTS: dict[str, str] = {
    **dict.fromkeys(("ncw", "nchw", "ncdhw"), "did you mean NCX?"),
    **dict.fromkeys(("nwc", "nhwc", "ndhwc"), "did you mean NXC?"),
}
RULE = "auto_pad_rule"
IMPLIED = "source.implied"
"""Attribute that names another one whose value comes from an option or the source format, not the graph."""

DATA_FORMAT = word("NCX", "NXC", default="NXC", hints=_ONNX_LAYOUTS)
AUTO_PAD = word("none", "same_upper", "same_lower", "valid", default="none", synonyms={"notset": "none"})


OIX_OR_XIO = word(
    "OIX",
    "XIO",
    default="XIO",
    hints=dict.fromkeys(("iox", "xoi"), "ConvTranspose uses IOX and XOI, Convolution OIX and XIO"),
)
IOX_OR_XOI = word(
    "IOX",
    "XOI",
    default="XOI",
    hints=dict.fromkeys(
        ("oix", "xio"),
        "ConvTranspose uses IOX and XOI; the newer page that lists OIX and XIO is in error",
    ),
)


class OneDNNOp(DocumentedOp, Remarks, ABC):
    """A oneDNN Graph op as its page describes it."""

    KIND: ClassVar[str]
    """The documented kind, as in a dump."""

    UNSET_WHEN_ZERO: ClassVar[tuple[str, ...]] = ()
    """Lists that a dump writes as twelve zeros if unset."""

    def normalise(self) -> None:
        super().normalise()
        for name in self.UNSET_WHEN_ZERO:
            if self.is_given(name) and is_padding(self._list(name), 0):
                del self.properties[name]

    def _list(self, name: str) -> tuple[int, ...]:
        try:
            return self.value(name)
        except ValueError:
            return ()

    def warning(self, message: str, *, strict: bool = False) -> Diagnostic:
        return diagnostic_at(self, "warning", message, strict=strict)

    def check_float(self, port: str, value: SSAValue) -> str:
        """Check that a data port has a documented dtype; return its name."""
        name = dtypes.name_of(element_type_of(value))
        if name not in dtypes.FLOATS:
            raise self.error(f"dtype of {port}", given=name, expected="one of f32, bf16, f16")
        return name

    def check_same_dtype(self, ports: Sequence[tuple[str, SSAValue]]) -> None:
        names = [self.check_float(port, value) for port, value in ports]
        if len(set(names)) > 1:
            given = ", ".join(f"{port} {name}" for (port, _), name in zip(ports, names, strict=True))
            raise self.error("dtypes differ", given=given, expected="the same on all ports")

    def check_rank(self, port: str, value: SSAValue) -> int:
        """Check the rank of a data port; return its spatial rank."""
        rank = len(shape_of(value))
        if not 3 <= rank <= 5:
            raise self.error(f"rank of {port}", given=f"{rank} {show(value)}", expected="3 to 5")
        return rank - 2

    def check_sizes(self, port: str, shape: Shape, layout: str) -> None:
        """Check that channels and spatial sizes are positive; a batch of 0 is legal."""
        names = [f"axis {a}" for a in axis_names(layout, len(shape) - 2)]
        for name, dim in zip(names, shape, strict=True):
            if name == "axis N":
                continue
            if dim == 0:
                raise self.error(f"{port} {name}", given=0, expected="a positive size")
            size_guards.positive(f"{port} {name}", dim)

    def check_shape_input(self, port: str, value: SSAValue, length: int) -> None:
        """Check that a port of sizes is s32, 1-D and of the given length."""
        dtype = dtypes.name_of(element_type_of(value))
        if dtype != "s32":
            raise self.error(f"dtype of {port}", given=dtype, expected="s32")
        shape = shape_of(value)
        if len(shape) != 1 or not size_guards.equal(f"length of {port}", shape[0], length):
            raise self.error(f"shape of {port}", given=show(value), expected=f"[{length}]")

    def default_hint(self, *names: str) -> str:
        """Return a hint about formats that were omitted, with their documented defaults."""
        left_out = [n for n in names if not self.is_given(n)]
        notes = [f"{n} is not given: its default is {self.value(n)}" for n in left_out]
        return "; ".join(notes)


class WindowedOp(OneDNNOp, ABC):
    """An op that slides a window along the spatial axes. Subclasses declare the attributes."""

    if TYPE_CHECKING:
        strides: tuple[int, ...]
        pads_begin: tuple[int, ...]
        pads_end: tuple[int, ...]
        auto_pad: str
        data_format: str

    def normalise(self) -> None:
        super().normalise()
        if self.is_given("dilations") and is_padding(self._list("dilations"), 1) and self.operands:
            rank = len(shape_of(self.operands[0])) - 2
            self.properties["dilations"] = INTS.encode([1] * max(rank, 1))

    @property
    def is_same(self) -> bool:
        return self.auto_pad.startswith("same")

    def channels_first(self, value: SSAValue) -> Shape:
        """Return the shape of a data tensor in NCX order."""
        return layouts.reorder(shape_of(value), self.data_format, "NCX")

    def check_window_lists(self, spatial_rank: int) -> None:
        """Check lengths and ranges of strides and pads."""
        self.check_list("strides", spatial_rank, 1)
        self.check_list("pads_begin", spatial_rank, 0)
        self.check_list("pads_end", spatial_rank, 0)

    def check_list(self, name: str, spatial_rank: int, low: int, hint: str = "") -> None:
        values = self.value(name)
        if len(values) != spatial_rank:
            raise self.error(
                f"length of {name}",
                given=f"{len(values)} {list(values)}",
                expected=f"{spatial_rank}, one value per spatial axis",
            )
        for letter, value in zip(axis_letters(spatial_rank), values, strict=True):
            if value < low:
                expected = "a positive value" if low else "a non-negative value"
                raise self.error(f"{name} axis {letter}", given=value, expected=expected, hint=hint)

    def explicit_pads(self) -> list[tuple[int, int]]:
        """Return the pads if `auto_pad` is `none` (as given) or `valid` (zero)."""
        if self.auto_pad == "valid":
            return [(0, 0)] * len(self.pads_begin)
        return list(zip(self.pads_begin, self.pads_end, strict=True))

    def remark_on_pads(self) -> Iterator[Diagnostic]:
        given = (*self.pads_begin, *self.pads_end)
        if self.auto_pad != "none" and any(given):
            yield self.remark(
                f"pads_begin {list(self.value('pads_begin'))} and pads_end {list(self.value('pads_end'))} "
                f"are ignored: auto_pad is {self.value('auto_pad')}"
            )


class WeightedOp(WindowedOp, ABC):
    """A convolution or transposed convolution: the taps of its window have weights."""

    if TYPE_CHECKING:
        dilations: tuple[int, ...]
        groups: int
        weights_format: str

    def format_hint(self, value: SSAValue, channels: int) -> str:
        """Return a hint for a data tensor with other than the required channels."""
        other = "NXC" if self.data_format == "NCX" else "NCX"
        shape = shape_of(value)
        fits = shape[layouts.axis_of(other, "C", len(shape) - 2)] == channels
        guess = f"did you mean data_format {other}?" if fits else ""
        return "; ".join(filter(None, [guess, self.default_hint("data_format", "weights_format")]))

    def check_lists(self, spatial_rank: int) -> None:
        """Check lengths and ranges of the per-axis lists."""
        self.check_window_lists(spatial_rank)
        self.check_list("dilations", spatial_rank, 1, "1 means dense")
        if self.groups < 1:
            raise self.error("groups", given=self.groups, expected="a positive value")

    def static_weights(self, value: SSAValue, spatial_rank: int) -> tuple[int, ...]:
        shape = shape_of(value)
        if len(shape) != spatial_rank + 2:
            raise self.error(
                "rank of weights",
                given=f"{len(shape)} {show(value)}",
                expected=f"{spatial_rank + 2}, that of {self.PORTS[0]}",
                hint="groups are folded into the channels: there is no group axis",
            )
        static = shapes.static(shape)
        if static is None:
            raise self.error("shape of weights", given=show(value), expected="sizes known at compile time")
        self.check_sizes("weights", static, self.weights_format)
        return static

    def divides(self, channels: int, what: str) -> None:
        groups = self.groups
        if channels % groups:
            divisors = ", ".join(str(d) for d in range(1, channels + 1) if channels % d == 0)
            raise self.error(
                "groups",
                given=groups,
                expected=f"a divisor of {what} = {channels} ({channels} % {groups} = {channels % groups})",
                hint=f"divisors: {divisors}",
            )

    def windows(self, kernel: Sequence[int]) -> tuple[Window, ...]:
        strides, dilations = self.strides, self.dilations
        return tuple(Window(k, s, d) for k, s, d in zip(kernel, strides, dilations, strict=True))


class OneDNNConvOp(WeightedOp, InfersOperands, ABC):
    """Base of the gradients of convolutions: attributes and checks.

    `auto_pad_rule` is gradc's extension: the page and the library compute the pads of `same_*` differently
    (`documented` is the page, `library` what oneDNN 3 does).
    """

    BY_PARTS: ClassVar = True

    UNSET_WHEN_ZERO: ClassVar[tuple[str, ...]] = ("output_padding", "dst_shape")

    strides = required(INTS)
    pads_begin = required(INTS)
    pads_end = required(INTS)
    dilations = required(INTS)
    auto_pad = defaulted(AUTO_PAD)
    output_padding = optional(INTS)
    groups = defaulted(INT.with_default(1))
    data_format = defaulted(DATA_FORMAT)
    auto_pad_rule = defaulted(word("documented", "library", default="documented"))

    @property
    def states_rule(self) -> bool:
        """True if the graph itself sets `auto_pad_rule`, not an option or the source format."""
        return self.is_given(RULE) and IMPLIED not in self.attributes

    def imply_rule(self, rule: str) -> None:
        """Set a rule that an option or the source format implies, unless the graph states the same."""
        if self.states_rule and self.properties[RULE] == StringAttr(rule):
            return
        self.properties[RULE] = StringAttr(rule)
        auto_pad = self.properties.get("auto_pad")
        if isinstance(auto_pad, StringAttr) and auto_pad.data.startswith("same"):
            self.attributes[IMPLIED] = StringAttr(RULE)

    @property
    @abstractmethod
    def out_channels(self) -> int | None:
        """The channels of diff_dst, operand 0, that the weights require; None if they are ambiguous."""

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        diff_dst = self.operands[0]
        shape = (None, self.out_channels, *(None,) * (len(shape_of(diff_dst)) - 2))
        yield diff_dst, layouts.reorder(shape, "NCX", self.data_format)

    def check_lists(self, spatial_rank: int) -> None:
        super().check_lists(spatial_rank)
        if self.is_given("output_padding"):
            self.check_list("output_padding", spatial_rank, 0)

    def dynamic_rule_remark(self, letter: str) -> Diagnostic:
        """Return the remark that the two rules differ for some sizes of a dynamic axis."""
        rule = self.auto_pad_rule
        other = "library" if rule == "documented" else "documented"
        return self.remark(
            f"auto_pad {self.value('auto_pad')} axis {letter}: the pads follow at run time from the {rule} "
            f"rule; for some sizes the {other} rule would give others"
        )


def axis_names(layout: str, spatial_rank: int) -> list[str]:
    letters = axis_letters(spatial_rank)
    axes = layouts.axes_of(layout, spatial_rank)
    return [letters[int(a)] if a.isdigit() else a for a in axes]


def show(value: SSAValue) -> str:
    return shapes.show(shape_of(value))
