"""Print pip constraints: every dependency of gradc, onnxruntime, and what reports need, at the oldest
supported version."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in (*project["dependencies"], *extras["cpu"], *extras["report"]):
    match = re.fullmatch(r"([\w-]+)(?:>=|==)([\d.]+?)(?:\.\*)?", requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound of the form name>=version")
    print(f"{match[1]}=={match[2]}")
