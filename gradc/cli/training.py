"""Implementation of `gradc train`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from dialects.support.diagnostics import usage
from dialects.support.dtypes import FLOATS, known_dtype
from dialects.support.option_names import renaming
from gradc import losses, optim
from gradc.cli.options import options_of
from gradc.cli.run_options import shapes_of
from gradc.compiler.driver import load
from gradc.compiler.source import Source
from gradc.files.json_text import json_text
from gradc.inspection import weights
from gradc.inspection.trainable import Trainability, find_trainable
from gradc.terminal import messages, progress
from gradc.terminal.console import has_style
from gradc.terminal.numbers import counted, size
from gradc.terminal.tables import Look, look, table
from gradc.training.folder import refuse_other_run
from gradc.training.options import TRAINABLE, TrainRequest
from gradc.training.source import describe_source
from gradc.training.step import TrainStep
from gradc.training.train_step import OPTION_NAMES, train_step_of

STATIC_SHAPE = "--static-shape"

_UNKNOWN = (
    "an ONNX file does not contain requires_grad=False, detach and no_grad; --frozen and --stop-gradient "
    "set them"
)
"""What `--list` cannot show."""


def make(source: Source, loss: Sequence[str], given: dict[str, Any]) -> TrainStep:
    """Return the training step of a source, and print the remarks. `given` are the options by name."""
    names = (
        "of",
        "frozen",
        "no_decay",
        "keep_outputs",
        "untie",
        "batchnorm",
        "dropout",
        "clip",
        "ema",
        "lora",
        "rank",
        "alpha",
    )
    own: dict[str, Any] = {name: given.pop(name) for name in names}
    own |= {name: given.pop(name) for name in ("accumulate", "straight_through", "stop_gradient", "rebatch")}
    own |= {name: given.pop(name) for name in ("in_place", "recompute", "check", "check_seconds")}
    own |= {"of": own["of"] or None}
    constants, trainable = given.pop("constants"), given.pop("trainable") or (TRAINABLE,)
    with renaming(OPTION_NAMES), progress.bar():
        user_request = TrainRequest(
            wrt=trainable,
            loss=_losses(loss),
            optimizer=optim.parse(given.pop("optimizer")),
            groups=[optim.parse_group(text) for text in given.pop("groups")],
            lr=optim.parse_schedule(given.pop("lr")),
            static_shapes=shapes_of(given.pop("static_shapes"), STATIC_SHAPE),
            rename=source.names,
            **own,
        )
        options = options_of(given)
        module = load(replace(source, names={}), options.auto_pad_rule, for_gradients=())
        step = train_step_of(module, user_request, options, constants)
        step = step.with_facts(source=describe_source(source.given))
    messages.show_remarks(*step.remarks)
    return step


def check_consent(step: TrainStep, *, yes: bool) -> None:
    """Ask whether to go on after remarks on what the file leaves open. Raises UsageError for a no, and
    without a terminal."""
    if not step.ambiguities or yes:
        return
    count = counted(len(step.ambiguities), "remark")
    if sys.stdin.isatty() and sys.stderr.isatty() and not messages.is_json():
        if click.confirm(
            f"The step may train something else than you mean ({count} above). Go on?", err=True
        ):
            return
        raise usage("training", "refused", "consent")
    hint = "--yes accepts that; --trainable names what to train; --list shows it"
    raise usage(f"the step may train something else than you mean ({count} above)", hint=hint)


def write(step: TrainStep, output: str, *, force: bool, as_json: bool) -> None:
    refuse_other_run(output, force=force)
    step.save(output, force=force)
    if as_json:
        click.echo(json_text({"folder": output, "nodes": len(step.model.graph.node), **step.facts}))
    count = sum(step.initial[name].size for name in step.parameters)
    checked = f"; gradients {step.proof}" if step.proof is not None else ""
    sizes = (len(step.parameters), "parameter"), (count, "number"), (len(step.model.graph.node), "node")
    about = ", ".join(counted(number, what) for number, what in sizes)
    messages.report_file(output, about + checked)


def export_run(source: Source, output: str | None) -> None:
    """Write the inference model of a folder with its parameters."""
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output': the model to write.")
    (folder,) = source.files if len(source.files) == 1 else (None,)
    if folder is None:
        raise click.UsageError("--export takes one folder.")
    step = TrainStep.load(folder)
    step.export(step.initial, output)
    messages.report_file(output, counted(len(step.parameters), "trained parameter"))


def show_parameters(step: TrainStep, source: Source, *, as_json: bool) -> None:
    """Print the trained parameters with their states and readers, then the weights that stay as they are."""
    rows = _rows(step, source.files[0] if source.is_model else None)
    if as_json:
        click.echo(json_text(rows))
        return
    click.echo(_table(rows, look(sys.stdout)), color=has_style(sys.stdout) or None)
    messages.mention(_UNKNOWN)


def _rows(step: TrainStep, path: str | None) -> list[dict[str, Any]]:
    stored = {one.name: one for one in weights.weights_of(path)} if path else {}
    reasons = find_trainable(path, list(stored.values()))[0] if path else {}
    by_parameter: dict[str, list[str]] = {name: [] for name in step.parameters}
    for name, state in step.facts["states"].items():
        by_parameter[state["of"]].append(name)
    trained = [
        {
            "name": name,
            "dtype": known_dtype(step.initial[name].dtype).name,
            "shape": list(step.initial[name].shape),
            "trained": True,
            "reason": "",
            "read_by": list(stored[name].readers) if name in stored else [],
            "states": [step.facts["states"][state]["slot"] for state in states],
            "state_bytes": sum(step.initial[state].nbytes for state in states),
        }
        for name, states in by_parameter.items()
    ]
    return trained + [
        {
            "name": name,
            "dtype": one.dtype,
            "shape": list(one.shape),
            "trained": False,
            "reason": "running statistic" if name in step.facts["statistics"] else _reason(reasons.get(name)),
            "read_by": list(one.readers),
            "states": [],
            "state_bytes": 0,
        }
        for name, one in stored.items()
        if name not in by_parameter and one.dtype in FLOATS
    ]


def _reason(found: Trainability | None) -> str:
    """Return why a weight does not train."""
    if found is None:
        return ""
    return "frozen" if found.trainable else found.reason


def _table(rows: Sequence[Mapping[str, Any]], look: Look) -> str:
    cells = [
        (
            row["name"],
            row["dtype"],
            "x".join(map(str, row["shape"])) or "scalar",
            ", ".join(row["states"]) or ("none" if row["trained"] else f"not trained: {row['reason']}"),
            " ".join(size(row["state_bytes"])) if row["trained"] else "",
            " and ".join(row["read_by"][:2]) + (" ..." if len(row["read_by"]) > 2 else ""),
        )
        for row in rows
    ]
    header = ("weight", "dtype", "shape", "states", "state", "read by")
    return table(header, cells, numbers=(4,), look=look)


def _losses(given: Sequence[str]) -> Any:
    """Return one loss, or several by the values that they read, with weights."""
    parsed = [_loss(text) for text in given]
    if len(parsed) == 1 and parsed[0][0] is None and parsed[0][1] == 1.0:
        return parsed[0][2]
    if any(name is None for name, _, _ in parsed):
        raise usage("--loss", " ".join(given), "a value before each loss, as logits=cross-entropy")
    return {name: (loss, weight) for name, weight, loss in parsed}


def _loss(text: str) -> tuple[str | None, float, Any]:
    """Return the value, the weight and the loss of `OUT=0.5*LOSS`."""
    head, colon, options = text.partition(":")
    name, equals, word = head.rpartition("=")
    factor, star, after = word.partition("*")
    try:
        weight = float(factor) if star else 1.0
    except ValueError:
        raise usage("--loss", text, "a number before *, as boxes=0.5*smooth-l1") from None
    word = after if star else word
    loss = f"{word}{colon}{options}" if not word.endswith(".onnx") else losses.Model(word)
    return (name if equals else None), weight, losses.parse(loss) if isinstance(loss, str) else loss
