"""The page of a report in headless Chromium: what is clicked does what it says, at every width, in both
colours, and without asking any network for anything."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.reports import chain, hostile
from support.runtimes import browser
from support.runtimes.runner import require

import gradc

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACKAGES = ("jinja2", "PIL", "pygraphviz")
WIDE, NARROW, PHONE = 1400, 800, 360

MARKED = (
    "return [...document.querySelectorAll(`[data-side=${arguments[0]}] g.kin`)].map((n) => n.dataset.source)"
)
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
OVERFLOW = """
const wide = [...document.querySelectorAll("body *")].filter((element) => {
  for (let box = element; box !== document.body; box = box.parentElement)
    if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(box).overflowX)) return false;
  return element.getBoundingClientRect().right > innerWidth + 0.5;
});
return wide.map((element) => element.outerHTML.slice(0, 120));
"""
ASKED = "return performance.getEntriesByType('resource').map((entry) => entry.name)"


def missing() -> str | None:
    absent = [name for name in PACKAGES if not find_spec(name)]
    return (
        f"not installed: {', '.join(absent)}: pip install -e '.[report]'"
        if absent
        else browser.missing_browser()
    )


class Page:
    def __init__(self, driver: Any, address: str):
        self.driver, self.address = driver, address

    def open(self, name: str, width: int = WIDE, scheme: str = "light", height: int = 900) -> None:
        self.driver.get_log("browser")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/{name}.html")
        self.run("try { localStorage.clear() } catch {}")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def click(self, element: Any) -> None:
        """In its middle, which is scrolled to where no bar covers it."""
        from selenium.webdriver import ActionChains  # pyright: ignore[reportMissingImports]

        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        ActionChains(self.driver).move_to_element(element).click().perform()

    def wait(self, until: Any) -> None:
        from selenium.webdriver.support.ui import WebDriverWait  # pyright: ignore[reportMissingImports]

        WebDriverWait(self.driver, browser.SECONDS).until(lambda _: until())

    def errors(self) -> list[str]:
        return [row["message"] for row in self.driver.get_log("browser") if row["level"] == "SEVERE"]

    def marked(self, side: str) -> list[str]:
        """The sources of the nodes that are marked on a side."""
        return self.run(MARKED, side)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(missing())
    found = tmp_path_factory.mktemp("reports")
    gradc.report(EXAMPLES / "decoder_backward.json").save(found / "decoder.html")
    gradc.report(EXAMPLES / "resize_dynamic.mlir").save(found / "dynamic.html")
    gradc.report(EXAMPLES / "conv_backward.mlir", strategy="conv-to-conv").save(found / "failed.html")
    gradc.report(hostile()).save(found / "hostile.html")
    gradc.report(chain(25, 2), run=False).save(found / "fifty.html")
    gradc.report(chain(250, 2), run=False).save(found / "large.html")
    head = "<!doctype html><meta charset=utf-8><link rel=icon href='data:,'><p>cell</p>"
    (found / "notebook.html").write_text(head + gradc.report(chain(1))._repr_html_(), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Page]:
    with browser.opened(folder) as (driver, address):
        yield Page(driver, address)


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    yield opened
    assert opened.errors() == []


ALL = ("decoder", "dynamic", "failed", "hostile", "fifty", "large")


@pytest.mark.sweep
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [WIDE, NARROW, PHONE])
def test_no_sideways_scrolling(page: Page, name: str, width: int):
    page.open(name, width)
    for details in page.all("#passes details, .plain")[:8]:
        page.run("arguments[0].open = true", details)
    assert page.run(OVERFLOW) == []
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.run(ASKED) == []


ACTIVE = "return document.querySelector('.contents a[aria-current]')?.textContent"


@pytest.mark.parametrize("height", [900, 4200, 9000])
def test_the_section_that_is_read_is_marked(page: Page, height: int):
    page.open("decoder", height=height)
    page.wait(lambda: page.run(ACTIVE) == "Summary")
    for link in page.all(".contents a"):
        page.run("document.documentElement.style.scrollBehavior = 'auto'; arguments[0].click()", link)
        room = page.run("return document.documentElement.scrollHeight > innerHeight")
        page.wait(lambda link=link, room=room: page.run(ACTIVE) == (link.text if room else "Summary"))
    page.run("scrollTo({top: 0, behavior: 'instant'})")
    page.wait(lambda: page.run(ACTIVE) == "Summary")


def test_the_end_of_the_page_is_its_last_section(page: Page):
    page.open("decoder")
    page.run("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    page.wait(lambda: page.run(ACTIVE) == "How to repeat")


IN_SIGHT = (
    "const {left, right} = arguments[0].getBoundingClientRect(); return left >= 0 && right <= innerWidth"
)
HINT = "return getComputedStyle(arguments[0], '::after').visibility"
CONTENT = "return getComputedStyle(arguments[0], '::after').content"


def test_a_wide_table_says_that_it_scrolls(page: Page):
    page.open("decoder", PHONE)
    table = page.one("#accuracy .scroll")
    page.wait(lambda: "scrolls sideways" in page.run(CONTENT, table))
    assert page.run(HINT, table) == "visible"
    assert page.run(IN_SIGHT, page.one("#accuracy .badge"))
    page.run("arguments[0].scrollLeft = 10_000", table)
    page.wait(lambda: page.run(HINT, table) == "hidden")
    page.open("decoder")
    assert page.run(CONTENT, page.one("#accuracy .scroll")) == "none"


def test_ulps_are_unfolded(page: Page):
    page.open("decoder")
    table = page.one(".ulps table")
    assert not table.is_displayed()
    page.click(page.one(".ulps summary"))
    assert table.is_displayed()


def test_an_op_and_what_it_became_are_marked_together(page: Page):
    page.open("decoder")
    page.click(page.one('[data-side="before"] g.node[data-source="conv2"] .box'))
    assert page.marked("before") == ["conv2"]
    assert set(page.marked("after")) == {"conv2"}
    count = len(page.marked("after"))
    assert page.one("#selection").text == f"conv2: {count} nodes of the model"


def test_a_node_leads_back_to_its_op_and_shows_its_details(page: Page):
    page.open("decoder")
    page.click(page.all('[data-side="after"] g.node[data-source="up1"] .box')[0])
    assert page.marked("before") == ["up1"]
    details = page.one('[data-side="after"] .viewer-details')
    assert details.is_displayed()
    assert "resize-" in details.text
    page.click(details.find_element("css selector", "button"))
    assert not details.is_displayed()
    assert page.marked("before") == []
    assert page.one("#selection").text.startswith("Choose an op")


def test_details_beside_a_graph_do_not_move_the_page(page: Page):
    page.open("decoder")
    page.run("document.documentElement.style.scrollBehavior = 'auto'")
    page.click(page.all('[data-side="after"] g.node[data-source="up1"] .box')[0])
    assert page.one('[data-side="after"] .viewer-details').is_displayed()
    middle = "return arguments[0].getBoundingClientRect().top / innerHeight"
    assert 0.4 < page.run(middle, page.one('[data-side="after"] g.selected .box')) < 0.6


def test_a_strategy_leads_to_its_op(page: Page):
    page.open("decoder")
    page.click(page.one('button[data-op="up2"]'))
    assert page.marked("before") == ["up2"]
    assert set(page.marked("after")) == {"up2"}
    assert page.one("#graph").is_displayed()


def test_search_finds_nodes(page: Page):
    page.open("fifty")
    box = page.one('[data-side="before"] input[type="search"]')
    page.click(box)
    box.send_keys("op1_24")
    matches = page.all('[data-side="before"] g.match')
    assert [node.get_attribute("data-source") for node in matches] == ["op1_24"]
    box.send_keys("\ue007")  # enter
    assert page.marked("after") == ["op1_24"]


def test_zooming(page: Page):
    page.open("fifty")
    width = "return document.querySelector('[data-side=before] svg').getBoundingClientRect().width"
    before = page.run(width)
    page.click(page.one('[data-side="before"] button[aria-label="Zoom in"]'))
    assert page.run(width) > before
    page.click(page.one('[data-side="before"] button[aria-label="Fit the whole graph"]'))
    assert page.run(width) < before


def test_passes_fold_and_unfold(page: Page):
    page.open("decoder")
    passes = page.all(".passes > li > details")
    assert len(passes) >= 4
    assert not any(p.get_attribute("open") for p in passes)
    page.click(page.one("#unfold"))
    assert all(p.get_attribute("open") for p in passes)
    assert any(line.is_displayed() for line in page.all(".line.added"))
    assert page.one("#unfold").text == "Close all"
    page.click(page.one("#unfold"))
    assert not any(p.get_attribute("open") for p in passes)
    page.click(passes[1].find_element("tag name", "summary"))
    assert passes[1].get_attribute("open")


def test_long_unchanged_stretches_are_folded(page: Page):
    page.open("fifty")
    page.click(page.one("#unfold"))
    folds = page.all(".fold")
    assert not any(fold.get_attribute("open") for fold in folds)
    for fold in folds[:1]:
        page.click(fold.find_element("tag name", "summary"))
        assert fold.find_element("css selector", ".line.same").is_displayed()


def test_the_colours_are_the_system_s_until_they_are_chosen(page: Page):
    found = {}
    for scheme in ("light", "dark"):
        page.open("decoder", scheme=scheme)
        found[scheme] = page.run(BACKGROUND)
    assert found["light"] != found["dark"]
    button = page.one("#theme")
    assert button.text == "Light"
    page.click(button)
    assert page.run(BACKGROUND) == found["light"]
    page.driver.refresh()
    assert page.run(BACKGROUND) == found["light"]
    page.click(page.one("#theme"))
    assert page.run(BACKGROUND) == found["dark"]


def test_the_keyboard_reaches_everything(page: Page):
    page.open("decoder")
    skip = page.one(".skip")
    page.run("arguments[0].focus()", skip)
    assert skip.is_displayed()
    reached = page.run(
        "return [...document.querySelectorAll('button, summary, a, input, [tabindex]')].map(e => e.tabIndex)"
    )
    assert min(reached) >= 0


def test_graphs_stand_side_by_side_where_there_is_room(page: Page):
    tops = {}
    for width in (WIDE, PHONE):
        page.open("decoder", width)
        before, after = page.all(".panel")
        tops[width] = after.location["y"] - before.location["y"]
    assert tops[WIDE] == 0
    assert tops[PHONE] > 200


def test_a_failed_graph_shows_what_is_wrong(page: Page):
    page.open("failed")
    verdict = page.one(".verdict")
    assert verdict.is_displayed()
    assert "stride 2 on axis H" in verdict.text
    assert "onednn.convolution_backward_data" in verdict.text


def test_hostile_names_are_text(page: Page):
    page.open("hostile")
    assert page.run("return document.querySelectorAll('script').length") == 1
    assert "<script>" in page.one("#summary").text
    page.click(page.one('[data-side="before"] g.node.source .box'))
    assert len(page.marked("after")) >= 1
    assert "<script>" in page.one("#selection").text


def test_images_are_not_blank(page: Page):
    page.open("decoder")
    images = page.all(".images img")
    assert len(images) == 3
    for image in images:
        assert page.run("return arguments[0].naturalWidth", image) > 8
        page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", image)
        assert len(image.screenshot_as_png) > 2000


def test_five_hundred_ops_can_be_used(page: Page):
    page.open("large")
    assert len(page.all('[data-side="before"] g.node.source')) == 500
    box = page.one('[data-side="after"] input[type="search"]')
    page.click(box)
    box.send_keys("op1_249\ue007")
    assert page.marked("before") == ["op1_249"]


def test_in_a_notebook_it_has_a_frame_of_its_own(page: Page):
    page.open("notebook")
    assert page.run("return getComputedStyle(document.querySelector('p')).fontSize") == "16px"
    page.driver.switch_to.frame(page.one("iframe"))
    try:
        page.wait(lambda: page.one("#theme").is_displayed())
        page.click(page.one("#theme"))
        page.click(page.one('[data-side="before"] g.node.source .box'))
        assert page.marked("after") == ["op0_0"]
    finally:
        page.driver.switch_to.default_content()
