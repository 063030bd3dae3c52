"""The check of a gradient tests the function in which stopped values are constants."""

from __future__ import annotations

import pytest
from support.networks import module_of
from xdsl.dialects.builtin import ModuleOp, f64

from dialects.onnx import ops as onnx
from dialects.support.entry import entry_function
from gradc.verification.gradient_spec import CheckError, Claim
from gradc.verification.prove import Prover
from passes.autodiff.session import Session
from passes.builder.values import Value
from passes.differentiate import Request, differentiate

NAMED = {onnx.ExpOp: "h", onnx.TanhOp: "t"}


def network(x: Value, w: Value) -> Value:
    return x.exp() * x + (x * w).tanh()


def _module() -> ModuleOp:
    module = module_of(network, {"x": ("N", 3), "w": (3,)}, f64)
    for op in entry_function(module).body.block.ops:
        if type(op) in NAMED:
            op.results[0].name_hint = NAMED[type(op)]
    return module


def _differentiated(*stopped: str, wrt: tuple[str, ...] = ()) -> Session:
    request = Request(wrt=wrt, cotangents=True, allow_unused=True, stop_gradient=stopped)
    return differentiate(_module(), request, record=True)


def _prover(session: Session, *stopped: str) -> Prover:
    assert session.differentiated is not None
    return Prover(Claim(_module(), session.differentiated, stopped=stopped))


@pytest.mark.parametrize("stopped", [("h",), ("t",), ("h", "t"), ("x",), ("w",), ("y",)])
@pytest.mark.parametrize("wrt", [(), ("x",), ("w", "t"), ("h", "x")])
def test_a_right_gradient_is_proved(stopped: tuple[str, ...], wrt: tuple[str, ...]):
    prover = _prover(_differentiated(*stopped, wrt=wrt), *stopped)
    assert prover.run() == ""
    assert not prover.open
    assert prover.whole


@pytest.mark.parametrize("stopped", ["h", "t", "x", "w", "y"])
def test_a_gradient_through_a_stopped_value_is_wrong(stopped: str):
    with pytest.raises(CheckError, match=f"not that of the function with constants for .*{stopped}"):
        _prover(_differentiated(), stopped).run()


@pytest.mark.parametrize("stopped", ["h", "t", "x", "w", "y"])
def test_a_gradient_that_stops_elsewhere_is_wrong(stopped: str):
    with pytest.raises(CheckError, match="not that of the function with constants"):
        _prover(_differentiated(stopped), "t" if stopped == "h" else "h").run()
