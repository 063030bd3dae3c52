"""The loops of docs/training_loops.md: those in JavaScript have the losses of `gradc.Trainer`."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.pages import blocks_of
from support.runtimes import browser
from support.runtimes.node import WEB, missing_in_node, node
from support.runtimes.runner import require
from support.trainable_models import batch_for, convolutional, perceptron

import gradc

STEPS = 20
LR = 1e-2
LONGEST = 40
"""Lines of a loop on the page."""

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training_loops.md"

NETWORKS = {"perceptron": (perceptron, (4,)), "convolutional": (convolutional, (2, 8, 8))}


def write(name: str, folder: Path) -> tuple[dict[str, np.ndarray], list[float]]:
    """Write a run that has made some steps, and batch.safetensors; return the batch and the next losses."""
    model, shape = NETWORKS[name]
    loss, optimizer = gradc.losses.CrossEntropy(), gradc.optim.AdamW()
    gradc.train_step(model(), loss=loss, optimizer=optimizer, check=False).save(folder)
    batch = batch_for(shape, 16)
    save_file(batch, folder / "batch.safetensors")
    trainer = gradc.Trainer(folder, threads=1)
    trainer.seed = 3
    for _ in range(5):
        trainer.step(batch, lr=LR)
    trainer.save()
    return batch, [trainer.step(batch, lr=LR) for _ in range(STEPS)]


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        ("onnxruntime-node", "perceptron"),
        pytest.param("onnxruntime-web", "convolutional", marks=pytest.mark.heavy),
    ],
)
def test_node_has_the_losses_of_python(runtime: str, name: str, tmp_path: Path):
    require(missing_in_node(runtime))
    _, want = write(name, tmp_path / "run")
    data = tmp_path / "run" / "batch.safetensors"
    out = node("train_run.mjs", runtime, tmp_path / "run", data, LR, STEPS)
    np.testing.assert_allclose(json.loads(out), want, rtol=1e-5)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    """A browser on train.html, and the losses that it must have."""
    require(browser.missing())
    _, want = write("convolutional", tmp_path / "run")
    for file in ("train.html", "train_page.mjs", "trainer.mjs"):
        shutil.copy(WEB / file, tmp_path)
    (tmp_path / "node_modules").symlink_to(WEB / "node_modules")
    with ExitStack() as stack:
        driver, address = stack.enter_context(browser.opened(tmp_path))
        driver.get(f"{address}/train.html")
        yield driver, want


@pytest.mark.heavy
def test_the_page_trains_and_draws_its_loss(page: Any):
    driver, want = page
    wait(lambda: driver.execute_script("return document.getElementById('now').value") == "ready")
    driver.execute_script("document.getElementById('train').click()")
    wait(lambda: driver.execute_script("return gradc.losses.length == 100 && !gradc.busy"))
    losses = driver.execute_script("return gradc.losses")
    np.testing.assert_allclose(losses[:STEPS], want, rtol=1e-5)
    assert driver.execute_script(COLUMNS) > 600
    assert "step 100" in driver.execute_script("return document.getElementById('now').value")
    assert not [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


COLUMNS = """
const { width, height } = document.getElementById("loss");
const { data } = document.getElementById("loss").getContext("2d").getImageData(0, 0, width, height);
const pixels = Array.from({ length: width * height }, (_, pixel) => pixel);
const drawn = pixels.filter((pixel) => data[4 * pixel + 3]);
return new Set(drawn.map((pixel) => pixel % width)).size;
"""
"""Number of columns of the canvas that have a drawn pixel."""


def wait(until: Any) -> None:
    """Wait until a condition of the page holds."""
    end = time.monotonic() + browser.SECONDS
    while not until():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_loops_on_the_page_are_short():
    loops = [block for block in blocks_of(PAGE) if block.language in ("js", "cpp", "csharp", "java")]
    assert {block.language for block in loops} == {"js", "cpp", "csharp", "java"}
    lines = {block.language: 0 for block in loops}
    for block in loops:
        lines[block.language] = max(lines[block.language], sum(map(bool, block.lines)))
    assert all(count <= LONGEST for count in lines.values()), lines
