"""State that the passes of one differentiation share outside the IR: Python functions and remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.passes import ModulePass

from dialects.support.diagnostics import Diagnostic
from passes.autodiff.common.primal import Rule
from passes.autodiff.record import Differentiated


@dataclass
class Session:
    """rules: the user's, by qualified op type. records: whether to keep a copy for the check.

    copies: weight -> its copies in the source. in_file: weight -> name and form in the file. stopped: names
    of `stop_gradient`. gradients, cotangents: name of the primal value -> name of its gradient or cotangent.
    differentiated: a copy of the primal and all emitted ops.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    records: bool = False
    copies: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    in_file: Mapping[str, str] = field(default_factory=dict[str, str])
    stopped: Sequence[str] = ()
    of: Sequence[str] = ()
    gradients: Mapping[str, str] = field(default_factory=dict[str, str])
    cotangents: Mapping[str, str] = field(default_factory=dict[str, str])
    remarks: Sequence[Diagnostic] = ()
    differentiated: Differentiated | None = None


@dataclass(frozen=True)
class SessionPass(ModulePass):
    """A pass of a differentiation. Alone, it has an empty session."""

    session: Session = field(default_factory=Session, init=False, repr=False, compare=False)


def in_session(pass_: ModulePass, session: Session) -> ModulePass:
    """Return the pass as one of a session."""
    if not isinstance(pass_, SessionPass):
        return pass_
    found = replace(pass_)
    object.__setattr__(found, "session", session)
    return found
