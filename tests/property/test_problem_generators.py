"""What the random problems cover: a property is worth what its examples reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from support.generate import KINDS, seeded
from support.problems import Node, Problem

from dialects import source_ops
from dialects.onednn import SPEC_KINDS
from dialects.onednn.base import OneDNNConvOp
from dialects.support.attributes import documented_attributes
from dialects.support.documented_op import DocumentedOp

COUNT = 900


def _conv_features(op: OneDNNConvOp, problem: Problem) -> Iterator[str]:
    kind = op.KIND
    problem_ = op.problem()
    yield f"{kind} auto_pad {op.value('auto_pad')} {op.value('auto_pad_rule')}"
    yield f"{kind} {op.value('data_format')} {op.value('weights_format')}"
    yield f"{kind} groups" if op.value("groups") > 1 else f"{kind} one group"
    yield f"{kind} output_padding" if op.is_given("output_padding") else f"{kind} no output_padding"
    for window, pads in zip(problem_.windows, problem_.pads, strict=True):
        yield f"{kind} kernel 1" if window.kernel == 1 else f"{kind} kernel"
        yield f"{kind} dilated" if window.dilation > 1 < window.kernel else f"{kind} dense"
        yield f"{kind} stride > kernel" if window.stride > window.extent else f"{kind} stride <= kernel"
        if pads is not None:
            yield f"{kind} pads > kernel" if max(pads) > window.extent else f"{kind} pads <= kernel"
            yield f"{kind} asymmetric pads" if pads[0] != pads[1] else f"{kind} symmetric pads"
    constant = any(name.startswith("w") for name in problem.constants)
    yield f"{kind} constant weights" if constant else f"{kind} run-time weights"
    if getattr(problem_, "documented_weights", False):
        yield f"{kind} the page's weights"
    if len(op.operands) == 3:
        yield f"{kind} run-time shape" if op.has_runtime_shape else f"{kind} constant shape"  # pyright: ignore
    if kind == "ConvolutionBackwardData" and not op.is_given("dst_shape") and len(op.operands) == 2:
        yield f"{kind} shape from the result type"


def _word_features(op: DocumentedOp) -> Iterator[str]:
    for name, documented in documented_attributes(type(op)).items():
        if documented.spec.words or documented.spec.tag == "bool":
            yield f"{op.name} {name} {op.value(name)}"
    for name in ("sizes", "scales"):
        if op.name == "onednn.interpolate_backward":
            yield f"{op.name} {name} {op.is_given(name)}"
    yield f"{op.name} {len(op.operands)} operands"


def _features(problem: Problem, node: Node) -> Iterator[str]:
    op = next(op for op in problem.module().walk() if isinstance(op, node.op))
    yield f"{op.name} {node.result.dtype}"
    yield f"{op.name} {len(node.result.declared) - 2}D"
    yield f"{op.name} runs {problem.runs}"
    if any(0 in size for size in node.result.sizes):
        yield f"{op.name} empty batch"
    if node.result.varies:
        yield f"{op.name} several sizes"
    yield from _conv_features(op, problem) if isinstance(op, OneDNNConvOp) else _word_features(op)


def test_every_source_op_is_drawn():
    drawn = {seeded([8, seed], kinds=(kind,)).nodes[0].op for kind in KINDS for seed in range(3)}
    missing = [kind for kind, op in source_ops().items() if op not in drawn and kind not in SPEC_KINDS]
    assert not missing, f"missing: {', '.join(missing)} in KINDS of tests/support/generate.py"


def test_everything_documented_is_reached():
    seen: Counter[str] = Counter()
    for seed in range(COUNT):
        problem = seeded([9, seed])
        seen.update(set(_features(problem, problem.nodes[0])))
    rare = {feature: count for feature, count in seen.items() if count < 5}
    assert not rare
    expected = {
        *(f"onednn.interpolate_backward mode {m}" for m in ("nearest", "linear", "bilinear", "trilinear")),
        *(f"onednn.interpolate_backward nearest_rounding {r}" for r in ("exact", "pytorch_nearest")),
        "onednn.interpolate_backward 3 operands",
        "ConvTransposeBackwardData the page's weights",
        *(
            f"ConvolutionBackwardData {what}"
            for what in (
                *(f"auto_pad {w} {r}" for w in _WORDS for r in ("documented", "library")),
                "stride > kernel",
                "pads > kernel",
                "run-time shape",
                "constant shape",
                "shape from the result type",
            )
        ),
    }
    assert expected <= set(seen)
    assert len({feature.split()[0] for feature in seen if feature.endswith("empty batch")}) == len(KINDS)


_WORDS = ("none", "same_upper", "same_lower", "valid")
