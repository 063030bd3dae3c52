"""Versions of installed packages."""

from __future__ import annotations

PACKAGES = ("onnx", "xdsl", "numpy", "ml_dtypes", "click", "platformdirs", "rich")
RUNTIMES = ("onnxruntime", "onnxruntime-gpu")


def package_version(name: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version(name)
    except PackageNotFoundError:
        return None
