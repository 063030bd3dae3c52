"""Tries the derivative of each op of ONNX, and writes what it is good for, for the page of derivatives:

    python tests/docs/probe_derivatives.py [OP...]

It takes some minutes; with names, only what stands of these is written anew.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.derivative_probes import ops, probe

from tools.documents.derivatives import PROBES

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    known = json.loads(PROBES.read_text(encoding="utf-8")) if PROBES.exists() else {}
    for name in sys.argv[1:] or ops():
        known[name] = probe(name)
        print(name, known[name], flush=True)
        found = {name: known[name] for name in ops() if name in known}
        PROBES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
