"""Headless Chromium on pages that are served from this machine; nothing else is asked for.

The pages of examples/web need `npm ci --prefix examples/web`. The browser is driven by selenium and
chromedriver.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WEB = Path(__file__).resolve().parents[3] / "examples" / "web"
RUNTIME = "node_modules/onnxruntime-web/dist"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 60


def missing() -> str | None:
    """What the pages cannot be run without, and how to get it."""
    if not (WEB / RUNTIME).is_dir():
        return "onnxruntime-web is not installed: npm ci --prefix examples/web"
    return missing_browser()


def missing_browser() -> str | None:
    """What no page can be opened without."""
    if not _browser() or not shutil.which("chromedriver"):
        return "Chromium or its driver is not installed: apt-get install chromium chromium-driver"
    if not find_spec("selenium"):
        return "selenium is not installed: pip install -e '.[web]'"
    return None


def _browser() -> str | None:
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


@contextlib.contextmanager
def opened(folder: Path = WEB) -> Iterator[tuple[Any, str]]:
    """A browser with nothing loaded, and the address at which it finds a folder."""
    with _served(folder) as address, tempfile.TemporaryDirectory(prefix="gradc-chromium-") as profile:
        driver = _started(profile)
        try:
            yield driver, address
        finally:
            driver.quit()


def _started(profile: str) -> Any:
    from selenium import webdriver  # pyright: ignore[reportMissingImports]
    from selenium.webdriver.chrome.service import Service  # pyright: ignore[reportMissingImports]

    options = webdriver.ChromeOptions()
    options.binary_location = _browser() or ""
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    driver.set_script_timeout(SECONDS)
    driver.set_page_load_timeout(SECONDS)
    return driver


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".wasm": "application/wasm",
        ".mjs": "text/javascript",
    }

    def log_message(self, format: str, *args: Any) -> None:
        pass
