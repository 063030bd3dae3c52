"""Inputs whose values are known at compile time."""

import ml_dtypes
import numpy as np
import pytest
from support.documents import CONV, CONV_TRANSPOSE, two_convolutions

import gradc
from gradc.files.npz import write_npz

WINDOW = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
NCX = {"data_format": "NCX", "weights_format": "OIX"}


def normal(shape, dtype=np.float32, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def conv_graph(dtype="f32", name="w") -> gradc.Graph:
    g = gradc.Graph()
    dy, w = g.input("dy", dtype, ["N", 4, None, None]), g.input(name, dtype, [4, 2, 3, 3])
    shape = g.input("shape", "s32", [4])
    g.output(g.convolution_backward_data(dy, w, shape, **WINDOW | NCX), "dx")
    return g


def resize_graph() -> gradc.Graph:
    g = gradc.Graph()
    src, dy = g.input("src", "f32", [1, 2, 3, 3]), g.input("dy", "f32", [1, 2, None, None])
    sizes = g.input("sizes", "s32", [2])
    g.output(g.interpolate_backward(src, dy, sizes, mode="linear", data_format="NCX"), "dx")
    return g


def names(compiled) -> list[str]:
    return [info.name for info in compiled.inputs]


class TestBinding:
    def test_a_constant_is_no_input_and_gives_the_same_numbers(self):
        dy, w = normal((1, 4, 3, 3)), normal((4, 2, 3, 3), seed=1)
        free, bound = gradc.compile(CONV), gradc.compile(CONV, constants={"t1": w})
        assert names(free) == ["t0", "t1"]
        assert names(bound) == ["t0"]
        assert len(bound.model.graph.initializer) >= 1
        want = free.run({"t0": dy, "t1": w})["t2"]
        np.testing.assert_array_equal(bound.run({"t0": dy})["t2"], want)

    def test_all_inputs(self):
        values = {"t0": normal((1, 4, 5, 5)), "t1": normal((2, 4, 3, 3), seed=1)}
        bound = gradc.compile(CONV_TRANSPOSE, constants=values)
        assert names(bound) == []
        want = gradc.compile(CONV_TRANSPOSE).run(values)["t2"]
        np.testing.assert_allclose(bound.run({})["t2"], want, atol=1e-5)

    def test_order_and_names_of_the_others_stay(self):
        bound = gradc.compile(two_convolutions(), constants={"t1": normal((4, 2, 3, 3))})
        assert names(bound) == ["t0", "t3"]
        assert [info.name for info in bound.outputs] == ["t4"]

    @pytest.mark.parametrize("name", ["w", "encoder/w:0", "weights_1"])
    def test_names_of_graphs(self, name):
        assert name not in names(gradc.compile(conv_graph(name=name), constants={name: normal((4, 2, 3, 3))}))

    def test_an_input_that_is_an_output(self):
        g = gradc.Graph()
        g.output(g.input("x", "f32", [2]), "y")
        bound = gradc.compile(g, constants={"x": np.array([1, 2], np.float32)})
        np.testing.assert_array_equal(bound.run({})["y"], [1, 2])

    def test_any_layout_and_what_is_no_array_yet(self):
        w = normal((4, 2, 3, 3))
        want = gradc.compile(CONV, constants={"t1": w}).model
        transposed = np.ascontiguousarray(w.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
        assert gradc.compile(CONV, constants={"t1": transposed}).model == want

    def test_the_arrays_are_left_alone(self):
        constants = {"t1": normal((4, 2, 3, 3))}
        before = constants["t1"].copy()
        compiled = gradc.compile(CONV, constants=constants)
        constants["t1"][:] = 0
        fed = {"t0": normal((1, 4, 3, 3))}
        np.testing.assert_array_equal(
            compiled.run(fed)["t2"], gradc.compile(CONV, constants={"t1": before}).run(fed)["t2"]
        )


class TestFiles:
    def test_a_path(self, tmp_path):
        w = normal((4, 2, 3, 3))
        np.savez(tmp_path / "w.npz", t1=w)
        want = gradc.compile(CONV, constants={"t1": w}).model
        for path in (tmp_path / "w.npz", str(tmp_path / "w.npz")):
            assert gradc.compile(CONV, constants=path).model == want

    @pytest.mark.parametrize("save", [lambda p, a: np.savez(p, **a), write_npz])
    def test_bfloat16_goes_through_a_file(self, save, tmp_path):
        w, path = normal((4, 2, 3, 3), ml_dtypes.bfloat16), tmp_path / "w.npz"
        save(path, {"w": w})
        want = gradc.compile(conv_graph("bf16"), constants={"w": w}).model
        assert gradc.compile(conv_graph("bf16"), constants=path).model == want
        assert gradc.compile(conv_graph("bf16"), constants={"w": w.view("V2")}).model == want


class TestSizes:
    """A known size input is as good as the attribute: the model's shapes are static."""

    def test_dst_shape(self):
        sizes = {"shape": np.array([2, 2, 6, 5], np.int32)}
        compiled = gradc.compile(conv_graph(), constants=sizes)
        assert names(compiled) == ["dy", "w"]
        assert compiled.outputs[0].shape[1:] == (2, 6, 5)
        fed = {"dy": normal((2, 4, 3, 3)), "w": normal((4, 2, 3, 3))}
        want = gradc.compile(conv_graph()).run(fed | sizes)["dx"]
        np.testing.assert_allclose(compiled.run(fed)["dx"], want, atol=1e-5)

    def test_sizes(self):
        compiled = gradc.compile(resize_graph(), constants={"sizes": np.array([5, 6], np.int32)})
        assert names(compiled) == ["src", "dy"]
        dynamic = gradc.compile(resize_graph())
        fed = {"src": normal((1, 2, 3, 3)), "dy": normal((1, 2, 5, 6))}
        want = dynamic.run(fed | {"sizes": np.array([5, 6], np.int32)})["dx"]
        np.testing.assert_allclose(compiled.run(fed)["dx"], want, atol=1e-5)

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            ([1, 3, 5, 5], "channels of the dst_shape input"),
            ([1, 2, 0, 5], "axis H"),
        ],
    )
    def test_sizes_that_cannot_be(self, shape, message):
        with pytest.raises(gradc.GradcError, match=message):
            gradc.compile(conv_graph(), constants={"shape": np.array(shape, np.int32)})


class TestErrors:
    @pytest.mark.parametrize(
        ("constants", "message"),
        [
            ({"t7": np.zeros(3)}, r"constants: given t7, expected one of the inputs t0 and t1"),
            (
                {"t1": np.zeros((4, 2, 3), np.float32)},
                r'\[input "t1"\] rank of shape \[4, 2, 3\]: given 3, expected 4',
            ),
            (
                {"t1": np.zeros((4, 2, 3, 5), np.float32)},
                r'\[input "t1"\] shape: given \[4, 2, 3, 5\], expected \[4, 2, 3, 3\]',
            ),
            ({"t1": np.zeros((4, 2, 3, 3))}, r'\[input "t1"\] dtype: given f64, expected f32'),
            ({"t1": None}, r'\[input "t1"\] dtype: given string'),
            ({"t1": [[1], [1, 2]]}, r"constant t1 is no array"),
            ({1: np.zeros(3)}, "constants: given dict, expected a mapping from names to arrays"),
            ([1], "constants: given list, expected a mapping from names to arrays"),
            ("no_such.npz", r"cannot read no_such\.npz: No such file"),
        ],
    )
    def test_one_line(self, constants, message):
        with pytest.raises(gradc.GradcError, match=rf"^error: {message}") as caught:
            gradc.compile(CONV, constants=constants)
        assert "\n" not in str(caught.value)

    def test_bfloat16_bits_are_not_taken_for_another_dtype(self):
        with pytest.raises(gradc.GradcError, match="dtype"):
            gradc.compile(CONV, constants={"t1": normal((4, 2, 3, 3), ml_dtypes.bfloat16).view("V2")})
