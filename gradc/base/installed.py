"""What is installed beside gradc."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("onnx", "xdsl", "numpy", "ml_dtypes", "click", "platformdirs", "rich")
RUNTIMES = ("onnxruntime", "onnxruntime-gpu")


def installed_version(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
