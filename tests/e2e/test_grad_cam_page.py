"""The page of the Grad-CAM example in headless Chromium: onnxruntime-web shows the map of the model."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from support.runtimes import browser
from support.runtimes.runner import require

pytest.importorskip("torch")

EXAMPLE = runpy.run_path(str(browser.WEB / "grad_cam.py"))
SIZE = EXAMPLE["SIZE"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, and a model that was trained for a few steps."""
    require(browser.missing())
    folder = tmp_path_factory.mktemp("site")
    for name in ("grad_cam.html", "grad_cam.mjs", "node_modules"):
        os.symlink(browser.WEB / name, folder / name)
    EXAMPLE["main"](folder / "models", steps=3)
    return folder


@pytest.fixture(scope="module")
def driver(folder: Path) -> Iterator[Any]:
    with browser.opened(folder) as (driver, address):
        driver.get(f"{address}/grad_cam.html")
        yield driver


def shown(driver: Any, label: int) -> dict[str, Any]:
    """Return the image, the label and the map of the page once it has run for a label."""
    from selenium.webdriver.support.ui import WebDriverWait  # pyright: ignore[reportMissingImports]

    def read(_: Any) -> dict[str, Any] | None:
        found = json.loads(driver.execute_script("return JSON.stringify(globalThis.gradc ?? null)"))
        return found if found and found["label"] == label else None

    return WebDriverWait(driver, browser.SECONDS).until(read)


@pytest.mark.parametrize("label", range(len(EXAMPLE["CLASSES"])))
def test_the_map_is_that_of_the_model_on_onnxruntime(folder: Path, driver: Any, label: int):
    choose = "const box = document.getElementById('class'); box.value = arguments[0];"
    driver.execute_script(f"{choose} box.dispatchEvent(new Event('change'));", str(label))
    found = shown(driver, label)
    image = np.array(found["image"], np.float32).reshape(1, 1, SIZE, SIZE)
    session = ort.InferenceSession(folder / "models" / "grad_cam.onnx")
    (expected,) = session.run(["map"], {"image": image, "label": np.array([label])})
    np.testing.assert_allclose(np.array(found["map"]), expected.ravel(), atol=1e-5)
    assert expected.max() > 0
    assert image.max() > 0.9
    assert "%" in driver.find_element("id", "now").text
    assert [row for row in driver.get_log("browser") if row["level"] == "SEVERE"] == []
