"""What code writes into pages is current, and what is stale is found and mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradc import support_table

ROOT = Path(__file__).resolve().parents[2]


class TestSupportTable:
    def test_it_is_fresh(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        assert support_table.refreshed(text) == text

    def test_stale_ones_are_found_and_mended(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(support_table, "tables", lambda: "fresh")
        path = tmp_path / "page.md"
        path.write_text(f"a\n{support_table.BEGIN}\nstale\n{support_table.END}\nb\n", encoding="utf-8")
        assert support_table.main(["--check", str(path)]) == 1
        assert "stale" in capsys.readouterr().out
        assert support_table.main([str(path)]) == 0
        assert support_table.main(["--check", str(path)]) == 0
        assert path.read_text(encoding="utf-8").splitlines() == [
            "a",
            support_table.BEGIN,
            "fresh",
            support_table.END,
            "b",
        ]
        with pytest.raises(ValueError, match="no <!-- support table"):
            support_table.refreshed("no markers")

    def test_a_cell_is_what_compiling_says(self, monkeypatch):
        monkeypatch.setattr(support_table, "compiles", lambda *args: args[3] is False)
        assert support_table._cell("InterpolateBackward", "f32", 2, "cpu") == "static"
        monkeypatch.setattr(support_table, "compiles", lambda *args: False)
        assert support_table._cell("InterpolateBackward", "f32", 2, "cpu") == "no"
