"""The example page in headless Chromium: it shows the reference's numbers, as pictures."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.compare import assert_agree
from support.runtimes import browser
from support.runtimes.runner import require

from dialects.evaluate import evaluate

EXAMPLE = runpy.run_path(str(browser.WEB / "models.py"))
GRAPHS = {graph.__name__: graph for graph in EXAMPLE["GRAPHS"]}

LAST = """
const tensor = ({ data, dims }) => ({ data: Array.from(data), dims });
const { model, feeds, output } = globalThis.gradc;
const inputs = Object.entries(feeds).map(([name, value]) => [name, tensor(value)]);
return { model, feeds: Object.fromEntries(inputs), output: output && tensor(output) };
"""
CHOOSE = """
const [id, value] = arguments;
const box = document.getElementById(id);
box.value = value;
box.dispatchEvent(new Event(id === "size" ? "input" : "change"));
"""
COLOURS = """
const canvas = document.getElementById(arguments[0]);
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
return new Set(new Uint32Array(data.buffer)).size;
"""
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}


class Page:
    """The page, and what was run on it last."""

    def __init__(self, driver: Any, address: str):
        self.driver, self.address = driver, address

    def open(self) -> None:
        self.driver.get_log("browser")
        self.driver.get(f"{self.address}/index.html")
        self.wait(lambda: self.last()["output"])

    def choose(self, control: str, value: str) -> None:
        self.driver.execute_script(CHOOSE, control, value)

    def last(self) -> dict[str, Any]:
        return self.driver.execute_script(LAST)

    def wait(self, until: Any) -> None:
        from selenium.webdriver.support.ui import WebDriverWait  # pyright: ignore[reportMissingImports]

        WebDriverWait(self.driver, browser.SECONDS).until(lambda _: until())

    def settle(self) -> None:
        """Until everything that was asked for has run."""
        assert self.driver.execute_async_script("globalThis.gradc.idle().then(arguments[0])")

    def element(self, name: str) -> Any:
        return self.driver.find_element("id", name)

    def errors(self) -> list[str]:
        return [row["message"] for row in self.driver.get_log("browser") if row["level"] == "SEVERE"]

    def check_numbers(self) -> None:
        last = self.last()
        module = GRAPHS[last["model"]]().module()
        feeds = {name: array_of(tensor) for name, tensor in last["feeds"].items()}
        (want,) = evaluate(module, list(feeds.values()))
        (magnitude,) = evaluate(_absolute(module), [np.abs(array) for array in feeds.values()])
        assert_agree(array_of(last["output"]), want, magnitude, last["model"])


def array_of(tensor: dict[str, Any]) -> np.ndarray:
    return np.array(tensor["data"], np.float32).reshape(tensor["dims"])


def _absolute(module: Any) -> Any:
    """The module with positive weights."""
    from dialects.onnx.ops import ConstantOp
    from dialects.support.constants import constant_value

    copy = module.clone()
    for op in list(copy.walk()):
        if isinstance(op, ConstantOp):
            value = constant_value(op.results[0])
            op.properties["value"] = ConstantOp(np.abs(value)).properties["value"]
    return copy


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's folder with compiled models."""
    require(browser.missing())
    folder = tmp_path_factory.mktemp("site")
    for name in ("index.html", "page.js", "node_modules"):
        os.symlink(browser.WEB / name, folder / name)
    EXAMPLE["main"](folder / "models")
    return folder


@pytest.fixture(scope="module")
def opened(site: Path) -> Iterator[Page]:
    with browser.opened(site) as (driver, address):
        yield Page(driver, address)


@pytest.fixture
def page(opened: Page) -> Page:
    opened.open()
    return opened


@pytest.mark.parametrize("model", GRAPHS)
def test_the_numbers_are_the_reference_s(page: Page, model: str):
    for pattern in ("rings", "noise"):
        page.choose("model", model)
        page.choose("pattern", pattern)
        page.settle()
        assert page.last()["model"] == model
        page.check_numbers()
    assert page.errors() == []


def test_the_gradient_of_a_model_is_that_of_the_class_that_is_chosen(page: Page):
    compiled = EXAMPLE["saliency"]()
    page.choose("model", "saliency")
    page.choose("pattern", "noise")
    assert page.element("class-label").is_displayed()
    maps = []
    for index, _ in enumerate(EXAMPLE["DIRECTIONS"]):
        page.choose("class", str(index))
        page.settle()
        feeds = {name: array_of(tensor) for name, tensor in page.last()["feeds"].items()}
        assert feeds["cotangent_logits"].tolist() == [np.eye(4)[index].tolist()]
        maps.append(array_of(page.last()["output"]))
        want = compiled.reference(feeds)["grad_image"]
        np.testing.assert_allclose(maps[-1], want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert page.element("output-name").text == "grad_image"
    for one, other in combinations(maps, 2):
        assert np.abs(one - other).max() > 0.1 * np.abs(one).max()
    assert page.errors() == []


def test_an_unknown_size_follows_its_slider(page: Page):
    page.choose("model", "any_size")
    page.settle()
    assert page.element("size-label").is_displayed()
    for size in ("7", "101"):
        page.choose("size", size)
        page.settle()
        assert page.last()["output"]["dims"] == [1, 1, int(size), int(size)]
        page.check_numbers()


@pytest.mark.parametrize("canvas", ["input", "output"])
def test_pictures_are_not_blank(page: Page, canvas: str):
    assert page.driver.execute_script(COLOURS, canvas) > 50
    shown = page.element(canvas).screenshot_as_png
    page.choose("pattern", "nothing")
    page.settle()
    assert page.driver.execute_script(COLOURS, canvas) == 1
    assert len(shown) > 3 * len(page.element(canvas).screenshot_as_png)
    page.check_numbers()


def test_drawing_changes_what_comes_in(page: Page):
    from selenium.webdriver import ActionChains  # pyright: ignore[reportMissingImports]

    page.choose("pattern", "nothing")
    page.choose("brush", "-1")
    canvas = page.element("input")
    ActionChains(page.driver).click_and_hold(canvas).move_by_offset(60, 20).release().perform()
    page.settle()
    drawn = np.array(page.last()["feeds"]["diff_dst"]["data"])
    assert drawn.min() < -0.5
    assert drawn.max() == 0
    page.check_numbers()


def test_the_legend_has_the_range(page: Page):
    most = np.abs(page.last()["output"]["data"]).max()
    low, zero, high = (span.text for span in page.element("output-legend").find_elements("tag name", "span"))
    assert zero == "0"
    assert float(high) == pytest.approx(most, rel=5e-3)
    assert low == high.replace("+", "\N{MINUS SIGN}")


def test_a_phone_needs_no_sideways_scrolling(page: Page):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        page.open()
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]
        tops = [page.element(canvas).location["y"] for canvas in ("input", "output")]
        assert tops[1] - tops[0] > 300
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_both_colour_schemes(page: Page):
    found = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        page.open()
        colour = "return getComputedStyle(document.body).backgroundColor"
        found.append((page.driver.execute_script(colour), page.element("output").screenshot_as_png))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_a_model_that_is_not_there_is_told(page: Page):
    page.driver.execute_script("document.getElementById('model').add(new Option('absent', 'absent'))")
    page.choose("model", "absent")
    page.settle()
    assert "failed" in page.element("status").get_attribute("class")
    assert "absent.onnx" in page.element("status").text
    assert page.errors()


def test_the_pages_choices_are_the_models(page: Page):
    options = page.element("model").find_elements("tag name", "option")
    assert [option.get_attribute("value") for option in options] == [*GRAPHS, "saliency"]
