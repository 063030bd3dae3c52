"""Code without a graph of fixed ops: an error at the user's line, or the right graph."""

from __future__ import annotations

import math
import random
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import capture, evaluate  # noqa: E402

from dialects.support.diagnostics import GradcError  # noqa: E402
from gradc.importers.torch.state import find_state  # noqa: E402

F, nn = torch.nn.functional, torch.nn

REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {}
DYNAMIC = ({0: "N"},)
COUNTS = {"calls": 0}
SHARED = torch.ones(3)


def refused(part: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a function whose second line is an error with `part` in its text."""

    def add(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        REFUSED[function.__name__] = function, part
        return function

    return add


@refused("read as a Python number, which would be frozen; pass the number as an argument")
def size_from_values(x: Any) -> Any:
    return torch.zeros(int(x.max()) + 1)


@refused("changes between calls")
def scaled_by_a_text(x: Any) -> Any:
    return x * len(f"{x.sum():.2f} of {x}")


@refused("the address of a tensor is read")
def scaled_by_an_address(x: Any) -> Any:
    return x * (x.data_ptr() % 7)


@refused("a boolean mask selects elements")
def selected(x: Any) -> Any:
    return x[x > 0].sum()


@refused("decide with torch.where")
def branch_on_values(x: Any) -> Any:
    return x if x.sum() > 0 else -x


@refused("read as a Python number")
def scaled_by_item(x: Any) -> Any:
    return x * x.sum().item()


@refused("compared in Python")
def compared(x: Any) -> Any:
    return x if torch.equal(x, x + 1) else -x


@refused("the graph itself depends on the sizes: no op at N=5, aten.mul.Scalar at N=4112")
def branch_on_large_sizes(x: Any) -> Any:
    return x * 2 if len(x) > 1000 else x


@refused("the graph itself depends on the sizes: ")
def loop_over_rows(x: Any) -> Any:
    return sum(row * i for i, row in enumerate(x))


@refused("as torch.tensor(float(len(x))).sqrt()")
def root_of_the_size(x: Any) -> Any:
    return x / math.sqrt(len(x))


@refused("put the module in eval()")
def dropped(x: Any) -> Any:
    return F.dropout(x, 0.5, True)


@refused("aten.randn draws random numbers, which would be frozen; pass the noise as an argument")
def noisy(x: Any) -> Any:
    return x + torch.randn(3)


@refused("changes between calls")
def noise_of_numpy(x: Any) -> Any:
    return x + torch.from_numpy(np.random.default_rng().random(3))


@refused("changes between calls")
def noise_of_python(x: Any) -> Any:
    return x * random.random()


@refused("read as an array of numpy")
def by_numpy(x: Any) -> Any:
    return torch.from_numpy(np.sin(x.numpy()))


@refused("changes a tensor that it closes over in place")
def changes_a_global(x: Any) -> Any:
    return x * SHARED.add_(1)


@refused("the branches of torch.cond return tensors of different shapes")
def by_cond(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y.sum(), (x,))


@refused("ValueError: own error")
def fails(x: Any) -> Any:
    raise ValueError("own error")


@refused("read as a Python number")
def hides_the_error(x: Any) -> Any:
    try:
        return x * float(x[0, 0])
    except Exception:
        return x


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_the_line_of_the_user(name: str):
    function, part = REFUSED[name]
    shapes = DYNAMIC if "sizes" in name or "rows" in name or "size" in name else None
    with pytest.raises(GradcError) as raised:
        capture(function, (torch.randn(5, 3),), dynamic_shapes=shapes)
    assert part in str(raised.value)
    position = raised.value.diagnostic.position
    assert position is not None
    assert position.file == __file__
    lines = range(function.__code__.co_firstlineno, function.__code__.co_firstlineno + 4)
    assert position.line in lines
    assert torch.equal(SHARED, torch.ones(3))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * self.calls


def test_counters_of_python_are_refused_and_restored():
    module = Counter()
    with pytest.raises(GradcError, match="changes between calls"):
        capture(module, (torch.randn(3),))
    assert module.calls == 0


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x: Any) -> Any:
        self.last = self.last + x
        return self.last.sum()


def test_state_that_is_no_buffer_is_refused():
    module = Memory()
    with pytest.raises(GradcError, match="keeps a tensor in last from call to call"):
        capture(module, (torch.randn(3),))
    assert torch.equal(module.last, torch.zeros(3))


def outputs_of(function: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
    return evaluate(capture(function, args, **options), args)[0]


def test_assignment_by_a_mask_is_a_selection():
    def clipped(x: Any) -> Any:
        y = x.clone()
        y[x > 0] = 0.5
        y[x[:, 0] < 0] += 1
        return y

    x = torch.randn(5, 3)
    with pytest.raises(GradcError, match="mask"):
        capture(clipped, (x,))

    def half(x: Any) -> Any:
        y = x.clone()
        y[x > 0] = 0.5
        y[x[:, 0] < 0] = torch.arange(3.0)
        return y

    torch.testing.assert_close(outputs_of(half, x)[0], half(x))


def test_numbers_and_repeated_results_are_results():
    def several(x: Any) -> Any:
        return x, len(x), 1 / len(x), {"again": x, "flag": True}, None

    graph = capture(several, (torch.randn(5, 3),), dynamic_shapes=DYNAMIC)
    names = [output.name for output in graph.outputs]
    assert names == ["output_0", "output_1", "output_2", "output_3_again", "output_3_flag"]
    x = torch.randn(9, 3)
    found, _ = evaluate(graph, (x,))
    assert [value.tolist() for value in found[1:3]] == [9, pytest.approx(1 / 9)]
    assert found[0] is found[3]


def test_an_argument_that_is_changed_is_an_update():
    def halves(x: Any) -> Any:
        x.mul_(0.5)
        return x.sum()

    x = torch.randn(3)
    graph = capture(halves, (x,))
    outputs, updates = evaluate(graph, (x,))
    torch.testing.assert_close(updates, {"x": x / 2})
    torch.testing.assert_close(outputs[0], x.sum() / 2)


def test_gradients_of_parameters_are_left_alone():
    layer = nn.Linear(3, 2)

    def step(x: Any) -> Any:
        layer.zero_grad()
        layer(x).square().sum().backward()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.sub_(0.1 * parameter.grad)
        return x

    before = layer.weight.detach().clone()
    graph = capture(step, (torch.randn(4, 3),))
    assert set(graph.updates) == {"weight", "bias"}
    assert layer.weight.grad is None
    assert torch.equal(layer.weight, before)


def test_dims_that_must_be_equal_name_themselves():
    def added(x: Any, y: Any) -> Any:
        return x + y

    args = torch.randn(5, 3), torch.randn(5, 3)
    with pytest.raises(GradcError, match="give equal dims one name"):
        capture(added, args, dynamic_shapes=({0: "N"}, {0: "M"}))
    automatic = {0: torch.export.Dim.AUTO}
    graph = capture(added, args, dynamic_shapes=(automatic, automatic))
    assert graph.dims == {"x_dim_0": 5}


@pytest.mark.parametrize(
    ("shapes", "part"),
    [
        (({0: "N"},), "expected 2, one for each argument"),
        ({"z": {0: "N"}}, "given z, expected one of x, y"),
        (({2: "N"}, None), "given 2, expected axes from 0 to 1"),
        (({0: "N", 1: "N"}, None), "dim N of x axis 1: given 3, expected 5"),
        (({0: 2 * torch.export.Dim("h") + 1}, None), "h: given expressions of it, expected an axis"),
        (({0: 1.5}, None), "expected a name, a torch.export.Dim or None"),
        (({0: 3}, None), "dynamic_shapes: x axis 0: given 3, expected 5; a number fixes an axis"),
    ],
)
def test_wrong_dynamic_shapes(shapes: Any, part: str):
    with pytest.raises(GradcError) as raised:
        capture(lambda x, y: x + y, (torch.randn(5, 3), torch.randn(5, 3)), dynamic_shapes=shapes)
    assert part in str(raised.value)


def test_entries_of_trees():
    """An entry that leads to no tensor is an error; those of a named tuple are its attributes or a tuple."""

    def function(given: Any, count: Any) -> Any:
        return given.x + given.y

    pair = namedtuple("Pair", "x y")(torch.randn(5, 3), torch.randn(5, 3))
    for entry in (({0: "N"}, {0: "N"}), {"x": {0: "N"}, "y": {0: "N"}}):
        graph = capture(function, (pair, 2), dynamic_shapes=(entry, None))
        assert graph.dims == {"N": 5}
    wrong = {"[0]['z']": ({"z": {0: "N"}}, None), "[1]": (None, {0: "N"}), "[0]": ("N", None)}
    for part, shapes in wrong.items():
        with pytest.raises(GradcError) as raised:
            capture(function, (pair, 2), dynamic_shapes=shapes)
        assert f"dynamic_shapes{part}: given" in str(raised.value)


def test_a_global_of_the_name_of_a_method_is_not_read():
    """`x.add(1)` reads no module `add` of the globals."""
    source = "def function(x):\n    return x.add(1)"
    scope: dict[str, Any] = {"add": nn.Linear(2, 2)}
    exec(source, scope)
    assert not find_state(scope["function"]).tensors


def test_modules_without_values_are_no_state():
    """As in `stack_module_state`, where a module on the meta device is only its code."""
    base = nn.Linear(3, 1, device="meta")
    weights = {"weight": torch.randn(2, 1, 3), "bias": torch.randn(2, 1)}

    def function(x: Any) -> Any:
        return torch.func.vmap(lambda w: torch.func.functional_call(base, w, (x,)))(weights)

    assert not find_state(function).tensors
    assert capture(function, (torch.randn(5, 3),), dynamic_shapes=DYNAMIC).ops


def test_nested_forward_mode_needs_no_values():
    """torch computes the shapes of zero tangents on the meta device."""

    def function(x: Any) -> Any:
        return torch.func.jacfwd(torch.func.jacfwd(lambda y: torch.sqrt((y * y).sum() + 0.1)))(x)

    graph = capture(function, (torch.randn(4),), dynamic_shapes=DYNAMIC)
    x = torch.randn(7)
    torch.testing.assert_close(evaluate(graph, [x], {})[0][0], function(x))


def test_lazy_modules_name_their_parameters():
    with pytest.raises(
        GradcError, match="the parameter weight of a lazy module has no shape; call the module"
    ):
        capture(nn.LazyLinear(2), (torch.randn(5, 3),))


def test_scripted_modules():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 2), nn.Tanh()))
    assert capture(scripted, (torch.randn(5, 3),), dynamic_shapes=DYNAMIC).ops


def test_checks_of_anomalies_read_no_values():
    def function(x: Any) -> Any:
        with torch.autograd.detect_anomaly():
            return torch.autograd.grad((x * x).sum(), x)[0]

    assert capture(function, (torch.randn(5, 3).requires_grad_(),), dynamic_shapes=DYNAMIC).ops
    assert not torch.is_anomaly_enabled()


def test_probabilities_are_not_checked():
    def score(x: Any, mean: Any) -> Any:
        mean = mean.detach().requires_grad_()
        found = torch.distributions.Normal(mean, mean.exp()).log_prob(x).sum()
        return torch.autograd.grad(found + F.gaussian_nll_loss(x, mean, mean.exp().detach()), mean)[0]

    args = torch.randn(5, 3), torch.randn(5, 3)
    torch.testing.assert_close(outputs_of(score, *args)[0], score(*args))


def test_values_that_only_real_tensors_have_are_not_frozen():
    def by_list(x: Any) -> Any:
        return torch.tensor(x.detach().tolist()) + x

    with pytest.raises(GradcError, match="frozen"):
        capture(by_list, (torch.randn(3),))


def test_tables_with_a_last_row():
    table = torch.randn(32, 3)
    graph = capture(lambda x: x + table[: len(x)], (torch.randn(5, 3),), dynamic_shapes=DYNAMIC)
    x = torch.randn(30, 3)
    torch.testing.assert_close(evaluate(graph, (x,))[0][0], x + table[:30])


def test_a_laplacian_by_vmap():
    def laplacian(x: Any) -> Any:
        def wave(z: Any) -> Any:
            return (z**2).sin().sum()

        return torch.func.vmap(lambda z: torch.trace(torch.func.hessian(wave)(z)))(x)

    x = torch.randn(4, 3)
    torch.testing.assert_close(outputs_of(laplacian, x)[0], laplacian(x), atol=1e-4, rtol=1e-4)


def test_statistics_with_quotients_of_sizes():
    def spread(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(x.std() + torch.cov(x.T).sum() + x.var(0).sum(), x)[0]

    graph = capture(spread, (torch.randn(5, 3),), dynamic_shapes=DYNAMIC)
    x = torch.randn(13, 3)
    torch.testing.assert_close(evaluate(graph, (x,))[0][0], spread(x))


def test_printing_reads_no_values(capsys: pytest.CaptureFixture[str]):
    def function(x: Any) -> Any:
        print(x, f"{x.mean():.3f}", repr(x.sum()))
        return x * 2

    x = torch.ones(3)
    assert evaluate(capture(function, (x,)), (x,))[0][0].tolist() == [2, 2, 2]
    assert "tensor of shape (3,)" in capsys.readouterr().out


def test_the_default_dtype_is_no_part_of_a_graph():
    def function(x: Any) -> Any:
        torch.set_default_dtype(torch.float64)
        return x + torch.ones(3)

    with pytest.raises(GradcError, match=r"test_traps.py:\d+:.*changes the default dtype of torch"):
        capture(function, (torch.ones(3),))
    assert torch.get_default_dtype() is torch.float32


def test_code_of_torch_alone_names_the_line_of_the_export():
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    with pytest.raises(GradcError, match=r"test_traps.py:\d+:.*in Dropout draws random numbers"):
        capture(module, (torch.ones(3),))
    with pytest.raises(GradcError, match=r"test_traps.py:\d+:.*the parameter weight of a lazy module"):
        capture(nn.LazyLinear(3), (torch.ones(3),))


def test_failures_without_mutations_name_their_line():
    def function(x: Any) -> Any:
        return torch.nested.nested_tensor([x, x]).to_padded_tensor(0.0)

    with pytest.raises(GradcError, match=r"test_traps.py:\d+:"):
        capture(function, (torch.ones(3),))


def test_what_is_done_once_is_another_call():
    class Once(nn.Module):
        first = True

        def forward(self, x: Any) -> Any:
            found = x * 2 if self.first else x + 1
            self.first = False
            return found

    with pytest.raises(
        GradcError, match=r"when it is called again: aten\.mul\.Scalar, then aten\.add\.Scalar"
    ):
        capture(Once(), (torch.ones(3),))


def test_a_caught_exception_is_refused_where_sizes_are_dynamic():
    def function(x: Any) -> Any:
        with suppress(RuntimeError):
            return x @ torch.ones(7)
        return x * 2

    x = torch.ones(3)
    assert evaluate(capture(function, (x,)), (x,))[0][0].tolist() == [2, 2, 2]
    with pytest.raises(GradcError, match=r"test_traps.py:\d+:.*an exception of torch is caught"):
        capture(function, (x,), dynamic_shapes=DYNAMIC)
