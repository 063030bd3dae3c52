"""gradc.train_step: what a step computes, its names, the models next to it, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.trained_networks import ARRAYS, BATCH, RNG, loss_of, model_of, network

import gradc
from dialects.onnx import ops as onnx_ops
from dialects.support.shapes import tensor_type
from gradc.losses import MSE, CrossEntropy
from gradc.optim import SGD, AdamW, Optimizer
from gradc.training.step import APPLY, EVALUATION, GRADIENTS, MODEL
from passes.training.optimizer import Slot
from passes.training.write_optimizer import WriteOptimizerPass

LR = 0.25


def run(model: ModelProto, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [info.name for info in session.get_inputs()]
    given = {name: np.asarray(feeds[name]) for name in names}
    results = session.run(None, given)
    return dict(zip([info.name for info in session.get_outputs()], map(np.asarray, results), strict=True))


def scalars(number: int = 1, lr: float = LR) -> dict[str, np.ndarray]:
    return {"lr": np.array(lr, np.float32), "step": np.array(number)}


def differences(name: str, width: float = 1e-6) -> np.ndarray:
    """Return the gradient of the loss by central differences."""
    found = np.zeros_like(ARRAYS[name])
    for index in np.ndindex(found.shape):
        ends = []
        for sign in (1, -1):
            moved = {key: array.copy() for key, array in ARRAYS.items()}
            moved[name][index] += sign * width
            ends.append(loss_of(moved))
        found[index] = (ends[0] - ends[1]) / (2 * width)
    return found


def test_a_step_of_sgd_goes_along_the_numerical_gradient():
    step = gradc.train_step(network(), loss=CrossEntropy(), optimizer=SGD())
    found = run(step.model, {**step.initial, **BATCH, **scalars()})
    assert found["loss"] == pytest.approx(loss_of(ARRAYS), abs=1e-12)
    for name, array in ARRAYS.items():
        np.testing.assert_allclose(found[step.updates[name]], array - LR * differences(name), atol=1e-8)
    assert step.proof is not None
    assert step.proof.status == "proved"


def test_names_by_their_role():
    step = gradc.train_step(
        network(), loss=CrossEntropy(), optimizer=AdamW(), keep_outputs="of", check=False, frozen="fc2.*"
    )
    assert step.parameters == ("fc1.weight", "fc1.bias")
    assert {info.name for info in step.model.graph.input} == {
        "x", "label", "lr", "step", *step.updates
    }  # fmt: skip
    assert [info.name for info in step.model.graph.output][:2] == ["loss", "y"] == step.facts["outputs"]
    assert set(step.initial) == set(step.updates)
    assert all(not step.initial[name].any() for name in step.facts["states"])
    scaled = {"of": "fc1.bias", "slot": "exp_avg", "scale": 1 - 0.9}
    assert step.facts["states"]["fc1.bias.exp_avg"] == scaled
    assert step.facts["scalars"] == {"lr": "float32", "step": "int64"}
    assert step.proof is None
    assert "x, label -> loss, y; 2 parameters of 25 numbers" in repr(step)


def test_the_models_without_gradients():
    step = gradc.train_step(network(), loss=CrossEntropy(), optimizer=SGD(), check=False)
    moved = {name: array + 0.1 for name, array in step.initial.items()}
    evaluated = run(step.models[EVALUATION], {**moved, **BATCH})
    assert evaluated["loss"] == pytest.approx(loss_of(moved), abs=1e-12)
    initial = run(step.models[MODEL], BATCH)
    assert not {info.name for info in step.models[MODEL].graph.input} - {"x"}
    weights = {one.name: numpy_helper.to_array(one) for one in step.models[MODEL].graph.initializer}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(weights[name], array)
    h = np.tanh(BATCH["x"] @ ARRAYS["fc1.weight"] + ARRAYS["fc1.bias"])
    np.testing.assert_allclose(initial["y"], h @ ARRAYS["fc2.weight"], atol=1e-12)


def test_accumulated_halves_give_the_step_of_the_whole():
    """The mean of a batch is the mean of those of its halves."""
    step = gradc.train_step(network(), loss=CrossEntropy(), optimizer=AdamW(), accumulate=2, check=False)
    whole = run(step.model, {**step.initial, **BATCH, **scalars()})
    sums = {name: np.zeros_like(step.initial[name.removeprefix("grad_")]) for name in step.facts["gradients"]}
    for half in (slice(3), slice(3, 6)):
        part = {name: array[half] for name, array in BATCH.items()}
        found = run(step.models[GRADIENTS], {**step.initial, **part, **sums})
        sums = {name: found[new] for name, new in step.facts["gradients"].items()}
    applied = run(step.models[APPLY], {**step.initial, **sums, **scalars(), "count": np.array(2, np.float32)})
    for name in step.updates.values():
        np.testing.assert_allclose(applied[name], whole[name], rtol=1e-9, atol=1e-12)


def test_running_statistics_are_updates():
    arrays = {
        "scale": np.array([1.0, 2.0, 0.5]), "shift": np.array([0.5, 0.0, 1.0]),
        "running_mean": np.array([0.1, 0.2, 0.3]), "running_var": np.array([1.0, 2.0, 3.0]),
    }  # fmt: skip
    node = helper.make_node("BatchNormalization", ["x", *arrays], ["y"], "bn", momentum=0.8)
    model = model_of([node], {"x": ["N", 3, 4]}, {"y": ["N", 3, 4]}, arrays)
    step = gradc.train_step(model, loss=MSE(), optimizer=SGD(), check=False)
    x, label = RNG.normal(size=(5, 3, 4)), RNG.normal(size=(5, 3, 4))
    found = run(step.model, {**step.initial, "x": x, "label": label, **scalars()})
    mean, var = x.mean((0, 2)), x.var((0, 2), ddof=1)
    np.testing.assert_allclose(found["new_running_mean"], 0.8 * arrays["running_mean"] + 0.2 * mean)
    np.testing.assert_allclose(found["new_running_var"], 0.8 * arrays["running_var"] + 0.2 * var)
    assert step.facts["statistics"] == ["running_mean", "running_var"]
    state = {name: found[new] for name, new in step.updates.items()}
    y = run(step.models[EVALUATION], {**state, "x": x, "label": label})["y"]
    mean, var = (state[f"running_{name}"][:, None] for name in ("mean", "var"))
    normal = (x - mean) / np.sqrt(var + 1e-5)
    np.testing.assert_allclose(y, normal * state["scale"][:, None] + state["shift"][:, None], rtol=1e-9)


@pytest.mark.parametrize("name", ["label", "lr", "step", "loss"])
def test_a_model_with_a_name_of_the_step(name: str):
    with pytest.raises(gradc.UsageError, match=rf"(?s)a value named {name}.*rename.*{name}=") as error:
        gradc.train_step(network(x=name), loss=CrossEntropy(), optimizer=SGD())
    assert error.value.exit_code == 2
    step = gradc.train_step(
        network(x=name), loss=CrossEntropy(), optimizer=SGD(), rename={name: "image"}, check=False
    )
    assert step.facts["batch"] == ["image"]


@pytest.mark.parametrize("name", ["label", "lr", "step", "loss"])
def test_a_weight_with_a_name_of_the_step(name: str):
    nodes = [helper.make_node("MatMul", ["x", name], ["y"])]
    model = model_of(nodes, {"x": ["N", 4]}, {"y": ["N", 3]}, {name: RNG.normal(size=(4, 3))})
    with pytest.raises(gradc.UsageError, match=rf"(?s)a value named {name}.*rename.*{name}="):
        gradc.train_step(model, loss=MSE(), optimizer=SGD())
    step = gradc.train_step(model, loss=MSE(), optimizer=SGD(), rename={name: "fc.weight"}, check=False)
    assert step.parameters == ("fc.weight",)


@pytest.mark.parametrize(
    ("names", "words"), [({"fc1.wieght": "w"}, "weight of the model"), ({"fc1.weight": "x"}, "x is taken")]
)
def test_names_that_no_weight_can_have(names: dict[str, str], words: str):
    with pytest.raises(gradc.UsageError, match=words):
        gradc.train_step(network(), loss=CrossEntropy(), optimizer=SGD(), rename=names)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": None}, "loss"),
        ({"loss": 3}, "loss"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"trainable": "fc9.weight"}, "trainable"),
        ({"frozen": ":weights"}, "frozen"),
        ({"accumulate": 0}, "accumulate"),
        ({"batchnorm": "yes"}, "batchnorm"),
        ({"of": "z"}, "of"),
        ({"loss": {"y": MSE(), "h": MSE()}, "of": "y"}, "of"),
    ],
)
def test_invalid_options(options: dict[str, Any], words: str):
    given: dict[str, Any] = {"loss": CrossEntropy(), "optimizer": SGD(), **options}
    with pytest.raises(gradc.UsageError, match=words):
        gradc.train_step(network(), **given)


def test_several_losses_have_labels_of_their_own():
    step = gradc.train_step(
        network(), loss={"y": CrossEntropy(), "h": (MSE(), 0.5)}, optimizer=SGD(), check=False
    )
    assert step.facts["labels"] == ["label_y", "label_h"]
    h = np.tanh(BATCH["x"] @ ARRAYS["fc1.weight"] + ARRAYS["fc1.bias"])
    labels = {"label_y": BATCH["label"], "label_h": np.zeros((6, 5))}
    found = run(step.model, {**step.initial, "x": BATCH["x"], **labels, **scalars()})
    assert found["loss"] == pytest.approx(loss_of(ARRAYS) + 0.5 * (h**2).mean())


def texts(step: gradc.TrainStep) -> str:
    assert {*step.ambiguities} <= {*step.remarks}
    return "\n".join(map(str, step.ambiguities))


def test_a_tied_weight_that_an_exporter_split_is_a_remark():
    table = RNG.normal(size=(5, 4))
    arrays = {"embed": table, "head": np.ascontiguousarray(table.T)}
    nodes = [
        helper.make_node("MatMul", ["x", "embed"], ["h"]),
        helper.make_node("MatMul", ["h", "head"], ["y"]),
    ]
    model = model_of(nodes, {"x": ["N", 5]}, {"y": ["N", 5]}, arrays)
    step = gradc.train_step(model, loss=MSE(), optimizer=SGD(), check=False)
    assert "embed and head have the same values but train apart" in texts(step)
    other = model_of(nodes, {"x": ["N", 5]}, {"y": ["N", 5]}, {**arrays, "head": arrays["head"] + 1})
    assert not gradc.train_step(other, loss=MSE(), optimizer=SGD(), check=False).ambiguities


def test_ones_that_two_norms_share_train_apart():
    arrays = {"ones": np.ones(4), "zeros": np.zeros(4)}
    nodes = [
        helper.make_node("LayerNormalization", ["x", "ones", "zeros"], ["h"], "first"),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("LayerNormalization", ["t", "ones", "zeros"], ["y"], "second"),
    ]
    model = model_of(nodes, {"x": ["N", 4]}, {"y": ["N", 4]}, arrays)
    step = gradc.train_step(model, loss=MSE(), optimizer=SGD(), check=False)
    assert step.parameters == ("ones", "ones.2", "zeros", "zeros.2")
    assert "ones (2 weights)" in texts(step)


def test_names_that_an_exporter_made_up_are_a_remark():
    arrays = {"val_3": ARRAYS["fc2.weight"]}
    nodes = [helper.make_node("MatMul", ["x", "val_3"], ["y"], "fc")]
    model = model_of(nodes, {"x": ["N", 5]}, {"y": ["N", 3]}, arrays)
    assert "val_3" in texts(gradc.train_step(model, loss=MSE(), optimizer=SGD(), check=False))
    named = gradc.train_step(model, loss=MSE(), optimizer=SGD(), check=False, trainable="val_3")
    assert not named.ambiguities


def test_constants_that_may_be_parameters_are_a_remark():
    nodes = [
        helper.make_node("MatMul", ["x", "fc.weight"], ["h"]),
        helper.make_node("Mul", ["h", "a"], ["m"]),
        helper.make_node("Mul", ["m", "/Constant_output_0"], ["y"]),
    ]
    arrays = {"fc.weight": RNG.normal(size=(4, 3)), "a": np.array(1.5), "/Constant_output_0": np.array(2.0)}
    model = model_of(nodes, {"x": ["N", 4]}, {"y": ["N", 3]}, arrays)
    step = gradc.train_step(model, loss=MSE(), optimizer=SGD(), check=False)
    assert step.parameters == ("fc.weight",)
    assert "may be parameters, and do not train: a;" in texts(step)
    chosen = gradc.train_step(model, loss=MSE(), optimizer=SGD(), trainable=[":weights", "a"], check=False)
    assert set(chosen.parameters) == {"fc.weight", "a"}
    assert not chosen.ambiguities


def test_an_output_whose_rank_the_file_computes():
    """torch's older exporter writes attention with such shapes."""
    text = """<ir_version: 9, opset_import: ["": 18]> m (float[2,3,4] x) => (float[2,12] y)
        <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> {
        h = MatMul(x, w)
        s = Shape(h)
        zero = Constant<value_ints=[0]>()
        axis = Constant<value_ints=[-2]>()
        rank = Constant<value_ints=[3]>()
        rest = Constant<value_ints=[-1]>()
        end = Mod(axis, rank)
        first = Slice(s, zero, end)
        shape = Concat<axis=0>(first, rest)
        r = Reshape(h, shape)
        y = Identity(r)
    }"""
    step = gradc.train_step(onnx.parser.parse_model(text), loss=MSE(), optimizer=SGD(), trainable="w")
    found = run(
        step.model,
        {
            **step.initial,
            **scalars(),
            "x": np.ones((2, 3, 4), np.float32),
            "label": np.zeros((2, 12), np.float32),
        },
    )
    assert found["loss"] == pytest.approx(np.mean((np.ones(4) @ step.initial["w"]) ** 2))


def test_a_wrong_update_is_found(monkeypatch: pytest.MonkeyPatch):
    """The reference of an optimizer of gradc's does not run its ops."""
    update = SGD.update

    def late(self: SGD, p: Any, g: Any, state: Any, lr: Any, step: Any, e: Any) -> Any:
        new, found = update(self, p, g, state, lr, step, e)
        return p + (new - p) * 0.9, found

    monkeypatch.setattr(SGD, "update", late)
    with pytest.raises(gradc.CheckError, match=r"new_fc1.weight is off") as error:
        gradc.train_step(network(), loss=CrossEntropy(), optimizer=SGD())
    assert error.value.exit_code == 1


def test_gradients_of_other_parameters_are_found(monkeypatch: pytest.MonkeyPatch):
    """Two parameters of one shape whose gradients are exchanged in the step."""
    arrays = {**ARRAYS, "fc2.weight": RNG.normal(size=(5, 5)), "fc3.weight": RNG.normal(size=(5, 5))}
    nodes = [
        *list(network().graph.node)[:2],
        helper.make_node("MatMul", ["h", "fc2.weight"], ["a2"], "fc2"),
        helper.make_node("Tanh", ["a2"], ["h2"]),
        helper.make_node("MatMul", ["h2", "fc3.weight"], ["y"], "fc3"),
    ]
    model = model_of(nodes, {"x": ["N", 4]}, {"y": ["N", 5]}, arrays)
    assert gradc.train_step(model, loss=MSE(), optimizer=SGD()).proof
    right = WriteOptimizerPass.apply

    def apply(self: WriteOptimizerPass, ctx: Any, op: Any) -> None:
        swapped = {"fc2.weight": "fc3.weight", "fc3.weight": "fc2.weight"}
        found = {name: self.gradients[swapped.get(name, name)] for name in self.gradients}
        right(replace(self, gradients=found), ctx, op)

    monkeypatch.setattr(WriteOptimizerPass, "apply", apply)
    with pytest.raises(gradc.CheckError, match=r"new_fc[23].weight is off"):
        gradc.train_step(model, loss=MSE(), optimizer=SGD())


def test_low_rank_adapters():
    """Only the adapters train; at first they change nothing, and the models without gradients have them."""
    step = gradc.train_step(
        network(), loss=CrossEntropy(), optimizer=SGD(), lora="fc2.*", rank=2, alpha=4.0, check=True
    )
    assert step.parameters == ("fc2.weight.lora_a", "fc2.weight.lora_b")
    state = dict(step.initial)
    losses = []
    for number in range(1, 6):
        found = run(step.model, {**state, **BATCH, **scalars(number)})
        state = {name: found[new] for name, new in step.updates.items()}
        losses.append(float(found["loss"]))
    assert losses[0] == pytest.approx(loss_of(ARRAYS), abs=1e-12)
    assert losses[-1] < losses[0]
    merged = ARRAYS["fc2.weight"] + 2.0 * state["fc2.weight.lora_a"] @ state["fc2.weight.lora_b"]
    evaluated = run(step.models[EVALUATION], {**state, **BATCH})
    assert evaluated["loss"] == pytest.approx(loss_of({**ARRAYS, "fc2.weight": merged}), abs=1e-9)
    both = gradc.train_step(
        network(), loss=CrossEntropy(), optimizer=SGD(), lora="fc2.*", rank=1, check=False,
        trainable=["*.lora_?", "fc1.bias"],
    )  # fmt: skip
    assert set(both.parameters) == {"fc2.weight.lora_a", "fc2.weight.lora_b", "fc1.bias"}


class Signs(Optimizer):
    """An optimizer of a user."""

    def slots(self, parameter: Any) -> dict[str, Any]:
        return {}

    def update(self, p: Any, g: Any, state: Any, lr: Any, step: Any, e: Any) -> Any:
        return p - lr * g.sign(), {}


@dataclass(frozen=True)
class HalfAdam(gradc.optim.Adam):
    """Half the steps of Adam, whose states have a scale."""

    def update(self, p: Any, g: Any, state: Any, lr: Any, step: Any, e: Any) -> Any:
        new, states = super().update(p, g, state, lr, step, e)
        return (p + new) * 0.5, states


@dataclass(frozen=True)
class Norms(Optimizer):
    """A state that is a scalar."""

    def slots(self, parameter: Any) -> dict[str, Any]:
        return {"norm": Slot(tensor_type(parameter.element_type, ()))}

    def update(self, p: Any, g: Any, state: Any, lr: Any, step: Any, e: Any) -> Any:
        norm = g.square().apply(onnx_ops.ReduceSumOp, keepdims=0).sqrt()
        return p - g * (lr / (norm + 1e-3)), {"norm": norm}


def test_a_class_of_a_user_is_compared_with_its_ops():
    step = gradc.train_step(network(), loss=CrossEntropy(), optimizer=HalfAdam(), clip=1.0)
    plain = gradc.train_step(network(), loss=CrossEntropy(), optimizer=gradc.optim.Adam(), clip=1.0)
    assert not [one for one in (*step.remarks, *plain.remarks) if "checked" in str(one)]
    moves = [
        run(one.model, {**one.initial, **BATCH, **scalars()})["new_fc2.weight"] - ARRAYS["fc2.weight"]
        for one in (step, plain)
    ]
    np.testing.assert_allclose(moves[0], moves[1] / 2, rtol=1e-6)


def test_states_of_another_shape_are_not_checked():
    step = gradc.train_step(network(), loss=CrossEntropy(), optimizer=Norms())
    assert any("updates are not checked: states of Norms" in str(one) for one in step.remarks)


def test_an_optimizer_of_a_user():
    step = gradc.train_step(network(), loss=CrossEntropy(), optimizer=Signs())
    assert not [one for one in step.remarks if "checked" in str(one)]
    found = run(step.model, {**step.initial, **BATCH, **scalars()})
    moved = found["new_fc1.bias"] - ARRAYS["fc1.bias"]
    np.testing.assert_allclose(moved, -LR * np.sign(differences("fc1.bias")), atol=1e-12)


@pytest.mark.parametrize(("loss", "is_nan"), [(CrossEntropy(), True), (MSE(), False)])
def test_a_batch_without_samples_keeps_the_parameters(loss: Any, is_nan: bool):
    """As docs/training.md says, the loss is NaN or 0, and the gradients are 0."""
    step = gradc.train_step(network(), loss=loss, optimizer=SGD(), check=False)
    label = np.zeros(0, np.int64) if is_nan else np.zeros((0, 3))
    found = run(step.model, {**step.initial, **scalars(), "x": np.zeros((0, 4)), "label": label})
    assert np.isnan(found["loss"]) if is_nan else found["loss"] == 0
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[f"new_{name}"], array)
