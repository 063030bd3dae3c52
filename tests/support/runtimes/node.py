"""Scripts in Node, in the folder of examples/web, whose packages they can import."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

WEB = Path(__file__).resolve().parents[3] / "examples" / "web"
SECONDS = 120


def missing_in_node(package: str) -> str | None:
    """What a script that imports a package cannot be run without, and how to get it."""
    if not shutil.which("node"):
        return "Node is not installed: apt-get install nodejs npm"
    if not (WEB / "node_modules" / package).is_dir():
        return f"{package} is not installed: npm ci --prefix examples/web --ignore-scripts"
    return None


def node(*args: object) -> str:
    """What a script prints. Raises RuntimeError with what it says on stderr where it fails."""
    command = ["node", *map(str, args)]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout
