"""Generated parts of each page; their generators are imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dialects import source_kinds

Content = Callable[[], str]


def pages() -> Mapping[str, Mapping[str, Content]]:
    """Return path of a page -> name of a part -> its generator."""
    from dialects.onednn.spec_classes import FAMILIES, KINDS
    from tools import limits_table, support_table
    from tools.documents import (
        api,
        aten,
        commands,
        derivatives,
        families,
        markdown,
        mixed,
        op_page,
        rule_api,
        speed,
        strategies,
    )
    from tools.support_specs import page_of

    parts_of_ops = {
        "op": op_page.formula,
        "attributes": op_page.attributes,
        "canonical form": op_page.canonical,
        "strategies": op_page.strategies,
    }
    suites = [speed.report(f"docs/speed/{name}.json") for name in speed.SUITES]
    return {
        "docs/support.md": {"support table": support_table.dtypes_and_ranks},
        "docs/limits.md": {"limits": limits_table.table},
        "docs/benchmarks.md": {
            "benchmark": partial(markdown.table, suites),
            "compile time": speed.compile_times,
            "networks": speed.networks,
        },
        "docs/cost_model.md": {"choice": speed.choice},
        "docs/mixed_graphs.md": {"onnx ops": mixed.onnx_ops, "forms": mixed.forms},
        "docs/ops/derivatives.md": {
            "derivatives": derivatives.table,
            "no": derivatives.no,
            "none": derivatives.none,
        },
        "docs/strategies.md": {"strategies": strategies.page},
        "docs/torch.md": {"aten ops": aten.table},
        "docs/reference/api.md": {"api": api.reference},
        "docs/reference/ops.md": {"classes": rule_api.classes, "functions": rule_api.functions},
        "docs/reference/cli.md": {
            "gradc": commands.gradc_commands,
            "gradc-opt": commands.opt_command,
            "passes": commands.passes,
        },
        **{
            f"docs/ops/{kind}.md": {name: partial(part, kind) for name, part in parts_of_ops.items()}
            for kind in source_kinds()
            if kind not in KINDS
        },
        **{
            f"docs/ops/{page}": {
                name: partial(families.family, name) for name in FAMILIES if page_of(name) == page
            }
            for page in ("nonspatial.md", "spatial.md")
        },
    }
