"""Measure the derivative of each op of ONNX for the page of derivatives: supported types, and residuals.

    python tests/docs/probe_derivatives.py [OP...]

It takes some minutes for all ops; with names, it measures only these.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.derivative_probes import ops, probe
from support.residuals import has_residuals, residuals

from tools.documents.derivatives import PROBES, RESIDUALS


def measure(path: Path, names: Sequence[str], among: Sequence[str], function: Callable[[str], Any]) -> None:
    """Update the file, an object by op, with the function's value for each of the names."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in names:
        known[name] = function(name)
        print(name, known[name], flush=True)
        found = {name: known[name] for name in among if name in known}
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:]
    measure(PROBES, chosen or ops(), ops(), probe)
    kept = has_residuals()
    measure(RESIDUALS, [name for name in kept if not chosen or name in chosen], kept, residuals)
