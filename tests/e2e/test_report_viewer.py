"""The viewer of a graph in headless Chromium: its first view, zoom, search, details, two graphs at once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.decoder import decoder
from support.runtimes import browser
from support.runtimes.runner import require
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import gradc
from dialects import context
from dialects.support import entry
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.drawing.picture import picture

ROOT = Path(__file__).resolve().parents[2]
DRAWING = ROOT / "gradc" / "drawing"
WIDE = {"width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": False}
PHONE = {"width": 360, "height": 780, "deviceScaleFactor": 2, "mobile": True}
HOSTILE = (
    "</title></svg><script>globalThis.obeyed = true</script>\"'&" + "\N{CJK UNIFIED IDEOGRAPH-6F22}" * 50
)

CONVOLUTION = (
    "  %c{i} = onednn.convolution_backward_data %{x}, %w {{strides = [1, 1], pads_begin = [1, 1], "
    'pads_end = [1, 1], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"}} '
    ": (tensor<1x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x16x16xf32>"
)

TEXTS_OUTSIDE = """
return [...document.querySelectorAll(".node")].flatMap((node) => {
  const box = node.querySelector(".box").getBBox();
  return [...node.querySelectorAll("text:not(.type)")].filter((text) => {
    const { x, y, width, height } = text.getBBox();
    return x < box.x || x + width > box.x + box.width || y < box.y || y + height > box.y + box.height;
  }).map((text) => text.textContent);
});
"""
TYPES_OVER_BOXES = """
return [...document.querySelectorAll("svg")].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll(".box")].map((box) => box.getBBox());
  return [...svg.querySelectorAll("text.type")].filter((text) => {
    const { x, y, width, height } = text.getBBox();
    const beside = (b) => x >= b.x + b.width || b.x >= x + width;
    return !boxes.every((b) => beside(b) || y + 2 >= b.y + b.height || b.y >= y + height - 2);
  }).map((text) => text.textContent);
});
"""


def chain(length: int) -> ModuleOp:
    """A graph of so many convolutions, one after the other."""
    lines = [CONVOLUTION.format(i=i, x=f"c{i - 1}" if i else "x") for i in range(length)]
    text = "\n".join(
        [
            "func.func @main(%x: tensor<1x8x16x16xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x16x16xf32> {",
            *lines,
            f"  func.return %c{length - 1} : tensor<1x8x16x16xf32>",
            "}",
        ]
    )
    return Parser(context(), text).parse_module()


def mirrored(length: int) -> ModuleOp:
    """Convolutions whose weights come in the order of the forward pass: the first input is read last."""
    shape = [1, 8, 64, 64]
    ones: dict[str, Any] = {key: [1, 1] for key in ("strides", "pads_begin", "pads_end", "dilations")}
    g = gradc.Graph()
    weights = [g.input(f"w{index}", "f32", [8, 8, 3, 3]) for index in range(length)]
    value = g.input("dy", "f32", shape)
    for w in reversed(weights):
        value = g.convolution_backward_data(value, w, shape, **ones, data_format="NCX", weights_format="OIX")
    g.output(value, "dx")
    return g.module()


def page_of(modules: dict[str, ModuleOp]) -> str:
    viewers = "".join(
        f'<div class="viewer">{picture(module, name)}</div>' for name, module in modules.items()
    )
    style = (DRAWING / "viewer.css").read_text(encoding="utf-8")
    script = (DRAWING / "viewer.js").read_text(encoding="utf-8")
    return (
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<link rel="icon" href="data:,">'
        f"<title>viewer</title><style>:root {{ color-scheme: light dark }} {style}</style>"
        f"{viewers}<script>{script}</script>"
    )


class Page:
    """A page with viewers, by their order."""

    def __init__(self, driver: Any, address: str):
        self.driver, self.address = driver, address

    def open(self, name: str, metrics: dict[str, Any] = WIDE, scheme: str = "light") -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get_log("browser")
        self.driver.get(f"{self.address}/{name}.html")
        self.wait("return [...document.querySelectorAll('.viewer-scale')].every((scale) => scale.value)")

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: object) -> None:
        from selenium.webdriver.support.ui import WebDriverWait  # pyright: ignore[reportMissingImports]

        WebDriverWait(self.driver, browser.SECONDS).until(lambda _: self.run(script, *arguments))

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def press(self, label: str) -> None:
        self.find(f'.viewer button[aria-label="{label}"]').click()

    def keys(self, selector: str, *keys: str) -> None:
        self.find(selector).send_keys(*keys)

    def click(self, id: str) -> None:
        """A click on the middle of a node, on whatever of it is there."""
        from selenium.webdriver import ActionChains  # pyright: ignore[reportMissingImports]

        ActionChains(self.driver).click(self.find(f"#{id} .box")).perform()

    def scale(self) -> int:
        return int(self.find(".viewer-scale").text.removesuffix("%"))

    def marked(self, name: str) -> set[str]:
        return set(self.run(f"return [...document.querySelectorAll('.node.{name}')].map((node) => node.id)"))

    def nodes_of(self, source: str) -> set[str]:
        """What came from an op of the document, in both graphs."""
        found = f"document.querySelectorAll('.node[data-source={source}]')"
        return set(self.run(f"return [...{found}].map((node) => node.id)"))

    def in_view(self, id: str) -> bool:
        """Whether the whole node can be seen in its pane."""
        return self.run(
            "const node = document.getElementById(arguments[0]);"
            "const pane = node.closest('.viewer-pane').getBoundingClientRect();"
            "const box = node.querySelector('.box').getBoundingClientRect();"
            "return box.left >= pane.left && box.right <= pane.right"
            " && box.top >= pane.top && box.bottom <= pane.bottom",
            id,
        )

    def errors(self) -> list[str]:
        return [row["message"] for row in self.driver.get_log("browser") if row["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    require(browser.missing_browser())
    require(None if find_spec("pygraphviz") else "pygraphviz is not installed: pip install -e '.[report]'")
    folder = tmp_path_factory.mktemp("viewer")
    decoded = compile_module(decoder(), Options())
    dynamic = compile_module(load(ROOT / "examples" / "resize_dynamic.mlir"), Options())
    hostile = chain(2)
    entry.set_names(entry.entry_function(hostile), [HOSTILE, HOSTILE + "2"], [HOSTILE + "3"])
    pages = {
        "both": {"before": decoded.source, "after": decoded.module},
        "wide": {"after": dynamic.module},
        "long": {"before": chain(500)},
        "hostile": {"before": hostile},
        "mirrored": {"after": compile_module(mirrored(20), Options(strategy="conv-to-conv")).module},
    }
    for name, modules in pages.items():
        (folder / f"{name}.html").write_text(page_of(modules), encoding="utf-8")
    with browser.opened(folder) as (driver, address):
        yield Page(driver, address)


def test_a_picture_has_its_colours_without_a_viewer(opened: Page):
    """As in a notebook."""
    script = "return [...document.querySelectorAll('.box')].map((box) => getComputedStyle(box).fill)"
    opened.open("both")
    wanted = opened.run(script)
    assert len(set(wanted)) >= 4
    opened.run("for (const div of document.querySelectorAll('.viewer')) div.className = ''")
    assert opened.run(script) == wanted


@pytest.mark.parametrize("metrics", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["both", "wide", "hostile"])
def test_texts_fit_their_boxes(opened: Page, name: str, metrics: dict[str, Any]):
    opened.open(name, metrics)
    assert opened.run(TEXTS_OUTSIDE) == []
    assert opened.run(TYPES_OVER_BOXES) == []
    assert opened.errors() == []


def test_names_are_not_obeyed(opened: Page):
    opened.open("hostile")
    assert opened.run("return globalThis.obeyed ?? null") is None
    opened.keys(".viewer-pane", "n")
    assert "<script>" in opened.find(".viewer-details h3").text


def test_a_small_graph_is_shown_whole(opened: Page):
    opened.open("both")
    assert opened.scale() == 100
    assert all(opened.in_view(f"before-{number}") for number in range(4))


def test_a_large_graph_begins_at_its_top_and_can_be_read(opened: Page):
    opened.open("long")
    assert opened.scale() >= 80
    assert opened.in_view("before-0")
    assert not opened.in_view("before-499")
    opened.press("Fit the whole graph")
    assert opened.scale() == 10


@pytest.mark.parametrize("metrics", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["both", "wide", "long", "mirrored"])
def test_the_first_view_is_full_of_nodes(opened: Page, name: str, metrics: dict[str, Any]):
    """No other part of the upper end has more of them; a phone begins at the left."""
    script = """
    return [...document.querySelectorAll(".viewer")].map((viewer) => {
      const pane = viewer.querySelector(".viewer-pane");
      const boxes = [...viewer.querySelectorAll(".node:not(.unread) .box")];
      const seen = () => {
        const frame = pane.getBoundingClientRect();
        return boxes.map((box) => box.getBoundingClientRect()).filter((box) =>
          box.left >= frame.left && box.right <= frame.left + pane.clientWidth + 1 && box.top >= frame.top
          && box.bottom <= frame.top + pane.clientHeight).length;
      };
      const first = seen();
      const counts = [];
      for (let left = 0; left <= pane.scrollWidth - pane.clientWidth; left += 40) {
        pane.scrollLeft = left;
        counts.push(seen());
      }
      return [first, Math.max(...counts)];
    });
    """
    opened.open(name, metrics)
    for first, most in opened.run(script):
        assert first > 0
        assert first >= most - 1 or metrics is PHONE


def test_buttons_zoom(opened: Page):
    opened.open("both")
    opened.press("Zoom in")
    assert opened.scale() == 125
    opened.press("Zoom out")
    opened.press("Zoom out")
    assert opened.scale() == 80
    opened.press("Actual size")
    assert opened.scale() == 100
    opened.press("Fit the whole graph")
    assert all(opened.in_view(id) for id in ("before-input-0", "before-output-0"))


def test_the_pane_keeps_its_height(opened: Page):
    opened.open("wide")
    height = opened.find(".viewer-pane").size["height"]
    opened.press("Fit the whole graph")
    assert opened.find(".viewer-pane").size["height"] == height


def test_keys_zoom_and_walk(opened: Page):
    opened.open("both")
    opened.keys(".viewer-pane", "+")
    assert opened.scale() == 125
    opened.keys(".viewer-pane", "-", "-", "1")
    assert opened.scale() == 100
    opened.keys(".viewer-pane", "n", "n", "p")
    assert opened.marked("selected") == {"before-input-0"}
    opened.keys(".viewer-pane", "\ue00c")  # escape
    assert opened.marked("selected") == set()
    opened.keys(".viewer-pane", "/")
    assert opened.run("return document.activeElement.type") == "search"


def test_arrows_scroll(opened: Page):
    opened.open("long")
    opened.keys(".viewer-pane", "\ue015")  # down
    opened.wait("return document.querySelector('.viewer-pane').scrollTop > 0")


def test_the_wheel_zooms_around_the_pointer(opened: Page):
    opened.open("wide")
    at = "const { x, y } = document.getElementById('after-0').getBoundingClientRect(); return [x, y]"
    x, y = opened.run(at)
    wheel = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -120, "modifiers": 2}
    before = opened.scale()
    opened.driver.execute_cdp_cmd("Input.dispatchMouseEvent", wheel)
    opened.wait("return parseInt(document.querySelector('.viewer-scale').value) > arguments[0]", before)
    assert opened.run(at) == pytest.approx([x, y], abs=3)


def test_the_wheel_alone_scrolls(opened: Page):
    opened.open("long")
    wheel = {"type": "mouseWheel", "x": 300, "y": 400, "deltaX": 0, "deltaY": 200}
    opened.driver.execute_cdp_cmd("Input.dispatchMouseEvent", wheel)
    opened.wait("return document.querySelector('.viewer-pane').scrollTop > 100")
    assert opened.scale() == 100


def test_a_mouse_drags_and_does_not_choose(opened: Page):
    from selenium.webdriver import ActionChains  # pyright: ignore[reportMissingImports]

    opened.open("long")
    node = opened.find("#before-2 .box")
    ActionChains(opened.driver).click_and_hold(node).move_by_offset(0, -150).release().perform()
    assert opened.run("return document.querySelector('.viewer-pane').scrollTop") == pytest.approx(150, abs=8)
    assert opened.marked("selected") == set()


def test_two_fingers_zoom(opened: Page):
    opened.open("both", PHONE)
    opened.run("document.querySelector('.viewer-pane').scrollIntoView()")
    before = opened.scale()

    def touch(kind: str, spread: int) -> None:
        points = [{"x": 180 - spread, "y": 200}, {"x": 180 + spread, "y": 200}]
        event = {"type": kind, "touchPoints": points if spread else []}
        opened.driver.execute_cdp_cmd("Input.dispatchTouchEvent", event)

    touch("touchStart", 30)
    touch("touchMove", 35)
    touch("touchMove", 70)
    touch("touchEnd", 0)
    assert opened.scale() == pytest.approx(2 * before, rel=0.05)
    assert opened.run("return visualViewport.scale") == 1


def test_a_node_tells_its_details_and_leads_on(opened: Page):
    opened.open("both")
    opened.click("before-1")
    details = opened.find(".viewer-details")
    assert details.is_displayed()
    assert details.find_element("css selector", "h3").text == "ConvTransposeBackwardData"
    rows = opened.run(
        "return [...document.querySelectorAll('.viewer-details dt')].map((name) => "
        "[name.textContent, name.nextElementSibling?.textContent])"
    )
    assert ["from", "up2"] in rows
    assert ["strides", "2,2"] in rows
    assert ["diff_dst", "1×32×128×128 f32"] in rows
    assert opened.run("return document.querySelectorAll('.edge.near').length") == 3
    opened.press("Go to t3")
    assert opened.marked("selected") == {"before-input-2"}
    assert opened.find(".viewer-details li").text == "ConvTransposeBackwardData of up2"
    opened.press("Close the details")
    assert not opened.find(".viewer-details").is_displayed()
    assert opened.run("return document.querySelectorAll('.near, .kin, .selected').length") == 0


def test_what_came_from_an_op_is_marked_in_the_other_graph(opened: Page):
    opened.open("both")
    opened.click("before-4")
    wanted = opened.nodes_of("up1")
    assert len(wanted) > 2
    assert opened.marked("kin") == wanted
    assert any(opened.in_view(id) for id in wanted if id.startswith("after"))
    shown = opened.run("return [...document.querySelectorAll('.viewer-details')].map((part) => part.hidden)")
    assert shown == [False, True]


def test_others_may_choose_a_source(opened: Page):
    opened.open("both")
    opened.run(
        "document.dispatchEvent(new CustomEvent('gradc:select', {detail: {source: 'head', id: null}}))"
    )
    assert opened.marked("kin") == opened.nodes_of("head") > {"before-0"}
    assert opened.marked("selected") == set()


def test_searching(opened: Page):
    opened.open("both")
    box = opened.driver.find_elements("css selector", ".viewer input")[1]
    box.send_keys("matmul")
    count = opened.driver.find_elements("css selector", ".viewer-count")[1]
    assert count.text == "2 found"
    assert len(opened.marked("match")) == 2
    box.send_keys("\ue007")  # enter
    assert count.text == "1 of 2"
    (first,) = opened.marked("selected")
    assert opened.in_view(first)
    opened.driver.find_elements("css selector", '.viewer button[aria-label="Next match"]')[1].click()
    assert count.text == "2 of 2"
    assert opened.marked("selected") == opened.marked("match") - {first}
    box.clear()
    box.send_keys("resize-to")
    assert opened.marked("match") == opened.nodes_of("up1") - {"before-4"}
    assert len(opened.marked("match")) == 2
    box.clear()
    box.send_keys("no such thing")
    assert count.text == "0 found"
    assert opened.marked("match") == set()


def test_a_reference_leads_to_its_node(opened: Page):
    """The weights are read by five hundred ops; those far from them have a reference."""
    opened.open("long")
    opened.run("document.getElementById('before-30').scrollIntoView()")
    opened.click("before-input-1-for-before-30")
    assert opened.marked("selected") == {"before-input-1"}
    assert opened.in_view("before-input-1")
    assert opened.run("return document.querySelectorAll('.viewer-details li').length") == 500


def test_the_overview_leads_to_the_end(opened: Page):
    from selenium.webdriver import ActionChains  # pyright: ignore[reportMissingImports]

    opened.open("long")
    overview = opened.find(".viewer-overview")
    assert overview.is_displayed()
    below = overview.size["height"] // 2 - 3
    ActionChains(opened.driver).move_to_element_with_offset(overview, 0, below).click().perform()
    opened.wait(
        "const pane = document.querySelector('.viewer-pane');"
        "return pane.scrollTop > 0.9 * (pane.scrollHeight - pane.clientHeight)"
    )
    opened.open("both")
    assert not opened.find(".viewer-overview").is_displayed()


def test_a_phone_needs_no_sideways_scrolling(opened: Page):
    for name in ("both", "wide", "long"):
        opened.open(name, PHONE)
        assert opened.run("return document.documentElement.scrollWidth") <= PHONE["width"]


SIDES = """
const pane = document.querySelectorAll(".viewer-pane")[arguments[0]].getBoundingClientRect();
const boxes = document.querySelectorAll(".viewer")[arguments[0]].querySelectorAll(".box");
const rects = [...boxes].map((box) => box.getBoundingClientRect());
return rects.map(({left, right}) => [left - pane.left, pane.right - right]);
"""


def test_a_phone_begins_with_the_whole_width_where_that_can_be_read(opened: Page):
    opened.open("both", PHONE)
    assert 45 <= opened.scale() < 100
    assert all(min(sides) >= 0 for sides in opened.run(SIDES, 0))


def test_a_phone_begins_at_the_left_where_the_width_is_too_much(opened: Page):
    opened.open("both", PHONE)
    scales = opened.run("return [...document.querySelectorAll('.viewer-scale')].map((scale) => scale.value)")
    assert scales[1] == "80%"
    assert all(left >= 0 for left, _ in opened.run(SIDES, 1)), "no box is cut at the left"
    opened.open("wide", PHONE)
    assert opened.scale() == 80
    assert opened.in_view("after-input-0")


def test_an_input_that_nothing_reads_is_dashed(opened: Page):
    opened.open("both")
    script = "return getComputedStyle(document.querySelector(arguments[0])).strokeDasharray"
    assert opened.run(script, "#after-input-5 .box") != "none"
    assert opened.run(script, "#after-input-0 .box") == "none"
    opened.run(
        "document.getElementById('after-input-5').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    rows = opened.run(
        "return [...document.querySelectorAll('.viewer-details dd')].map((row) => row.textContent)"
    )
    assert "its values change nothing" in rows


def test_details_are_seen_on_a_phone(opened: Page):
    """They stick to the end of the window, whatever of the graph is below it."""
    opened.open("long", PHONE)
    opened.click("before-4")
    details = opened.find(".viewer-details").rect
    top = "return document.querySelector('.viewer-details').getBoundingClientRect().top"
    below = "return document.getElementById('before-4').getBoundingClientRect().bottom"
    assert opened.run(below) <= opened.run(top)
    assert details["height"] > 100
    end = opened.run("return innerHeight + scrollY")
    assert details["y"] + details["height"] == pytest.approx(end, abs=60)
    assert opened.in_view("before-4")


def test_both_colour_schemes_can_be_read(opened: Page):
    """The contrast that WCAG asks of text, between each text and the box behind it."""
    script = """
    const luminance = (colour) => {
      const context = new OffscreenCanvas(1, 1).getContext("2d");
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const parts = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
      const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const contrast = (one, other) => {
      const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    const paper = getComputedStyle(document.querySelector(".viewer")).backgroundColor;
    return Math.min(...[...document.querySelectorAll(".node text")].map((text) => {
      const box = getComputedStyle(text.parentNode.querySelector(".box")).fill;
      return contrast(getComputedStyle(text).fill, text.classList.contains("type") ? paper : box);
    }));
    """
    papers = set()
    for scheme in ("light", "dark"):
        for name in ("both", "wide"):
            opened.open(name, scheme=scheme)
            opened.keys(".viewer input", "conv" if name == "both" else "shape")
            assert opened.run(script) >= 4.5, (scheme, name)
        papers.add(opened.run("return getComputedStyle(document.querySelector('.viewer')).backgroundColor"))
    assert len(papers) == 2
