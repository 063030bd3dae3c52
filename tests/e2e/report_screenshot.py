"""Draws docs/report.png: the page of examples/decoder_backward.json with one op chosen.

    python tests/e2e/report_screenshot.py docs/report.png

Wants Chromium, chromedriver and selenium, as the tests of the page do.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.runtimes import browser

import gradc

DECODER = Path(__file__).resolve().parents[2] / "examples" / "decoder_backward.json"
WIDTH, HEIGHT = 1480, 1570
COLOURS = 128
CHOOSE = """
document.documentElement.style.scrollBehavior = "auto";
document.querySelector('button[data-op="conv2"]').click();
document.querySelector('[data-side="after"] button[aria-label^="Fit"]').click();
document.getElementById("graph").scrollIntoView({behavior: "instant"});
"""


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        gradc.report(DECODER, threads=1).save(Path(folder) / "report.html")
        with browser.opened(Path(folder)) as (driver, address):
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
            driver.get(f"{address}/report.html")
            driver.execute_script(CHOOSE)
            taken = Image.open(io.BytesIO(driver.get_screenshot_as_png()))
    # few colours are enough for a page, and a third of the bytes
    taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
