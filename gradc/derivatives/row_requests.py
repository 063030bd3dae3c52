"""Options of derivatives that are computed for several rows or samples in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialects.support.diagnostics import usage
from dialects.support.option_names import option
from gradc.derivatives.request import GradientRequest
from gradc.util import arguments

CASADI = "casadi"
FAMILIES = (CASADI,)
"""Programs whose names and shapes of derivatives `family` chooses."""


@dataclass(frozen=True)
class SampleRequest(GradientRequest):
    """Options of a derivative that can be computed per sample."""

    per_sample: bool = False
    batch_axis: Mapping[str, int | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        per_sample = arguments.flag("per_sample", self.per_sample)
        axes = validate_batch_axis(self.batch_axis, per_sample=per_sample)
        object.__setattr__(self, "per_sample", per_sample)
        object.__setattr__(self, "batch_axis", axes)

    @property
    def row_passes(self) -> tuple[str, ...]:
        return ("per-sample",) if self.per_sample else ()


@dataclass(frozen=True)
class VjpRequest(SampleRequest):
    """Options of `grad` and `vjp`; a number of cotangents or a family implies `cotangents`."""

    num_cotangents: int | str | None = None
    family: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_family(self.family, self)
        if self.family and self.num_cotangents is None:
            object.__setattr__(self, "num_cotangents", "nadj")
        check_rows("num_cotangents", self.num_cotangents)
        if self.num_cotangents is None:
            return
        if self.per_sample:
            per_sample = option("per_sample", True)
            both = f"{per_sample} and {option('num_cotangents', self.num_cotangents)}"
            hint = f"the Jacobian with {per_sample} has all rows of each sample"
            raise usage(both, expected="one of the two", hint=hint)
        object.__setattr__(self, "cotangents", True)
        self._check_reduction()

    @property
    def differentiates_all(self) -> bool:
        return self.family is not None

    @property
    def row_passes(self) -> tuple[str, ...]:
        rows = () if self.num_cotangents is None else ("vectorize",)
        return (*rows, *super().row_passes)


@dataclass(frozen=True)
class JvpRequest(GradientRequest):
    """Options of a Jacobian-vector product."""

    num_tangents: int | str | None = None
    family: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_family(self.family, self)
        if self.family and self.num_tangents is None:
            object.__setattr__(self, "num_tangents", "nfwd")
        check_rows("num_tangents", self.num_tangents)

    @property
    def differentiates_all(self) -> bool:
        return self.family is not None

    @property
    def row_passes(self) -> tuple[str, ...]:
        return () if self.num_tangents is None else ("vectorize",)


PAIR_FIELDS = (("what", "name"), ("what", "of", "wrt"))
"""Fields of a name template for results that belong to an `of` and to `wrt`."""


def pair_name(template: str, what: str, of: str, wrt: Sequence[str], name: str = "") -> str:
    """Return the name of a result of an `of` and `wrt`; `name` is `{name}`, if not all of them."""
    return template.format(what=what, name=name or "_".join((of, *wrt)), of=of, wrt="_".join(wrt))


def check_rows(what: str, given: Any) -> None:
    """Check a number of rows, or the name of a dynamic size."""
    if given is None or (isinstance(given, str) and given.isidentifier()):
        return
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise arguments.invalid(what, given, "a number >= 1, or a name such as K for a dynamic size")


def check_family(given: Any, request: GradientRequest) -> None:
    """Check the family of names and shapes, and the options that it excludes."""
    if given is None:
        return
    arguments.one_of("family", given, FAMILIES)
    others = {"per_sample": isinstance(request, SampleRequest) and request.per_sample}
    others["name_template"] = request.name_template != GradientRequest.name_template
    if found := next((name for name, is_given in others.items() if is_given), None):
        both = f"{option('family', given)} and {option(found, getattr(request, found))}"
        raise usage(both, expected="one of the two")


def check_chunk_size(given: Any) -> None:
    """Check a number of rows that are computed at once."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise arguments.invalid("chunk_size", given, "a number of rows >= 1")


def validate_batch_axis(given: Any, *, per_sample: bool) -> dict[str, int | None]:
    """Validate `batch_axis`. Raises UsageError."""
    expected = "a mapping from names of inputs to 0 or None"
    found = arguments.mapping("batch_axis", {} if given is None else given, expected)
    for name, axis in found.items():
        if axis is not None and (isinstance(axis, bool) or axis != 0):
            hint = f"put a Transpose behind {name} in the model, which then has the samples on axis 0"
            raise arguments.invalid("batch_axis", axis, "0 or None", hint, part=f"of {name}")
    if found and not per_sample:
        raise arguments.invalid("batch_axis", found, f"{option('per_sample', True)} with it")
    return dict(found)
