"""What a person at a terminal sees, and what a program reads from a pipe."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from support.cli import run_gradc, run_opt
from support.documents import CONV, attrs, changed, text_of
from support.terminals import on_terminal, terminal, without_colours

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "examples" / "conv_backward.mlir"
RESIZE = ROOT / "examples" / "resize_dynamic.mlir"
ERROR_KEYS = ["severity", "message", "subject", "file", "line", "column", "exit_code"]
RED, CYAN, BOLD = "\x1b[1;31m", "\x1b[1;36m", "\x1b[1m"


@pytest.fixture
def bad(tmp_path) -> Path:
    path = tmp_path / "bad.json"
    path.write_text(text_of(changed(CONV, attrs(groups=0))), encoding="utf-8")
    return path


@pytest.fixture
def remarkable(tmp_path) -> Path:
    """A graph with two remarks: it does not say the rule of its pads."""
    path = tmp_path / "remarkable.mlir"
    path.write_text(GRAPH.read_text("utf-8").replace('auto_pad_rule = "library",', ""), encoding="utf-8")
    return path


class TestQuote:
    def test_an_error(self, bad):
        line, source, caret = run_gradc("inspect", bad).err.splitlines()
        assert line.startswith(f"{bad}:")
        assert source.endswith('"value": 0')
        assert caret.index("^") == source.index("0", 8)

    def test_stdin(self):
        text = GRAPH.read_text(encoding="utf-8").replace("strides", "strids")
        for found in (run_gradc("inspect", "-", stdin=text.encode()), run_opt("-", stdin=text.encode())):
            assert found.err.startswith("<stdin>:5:5: error: ")
            assert "    5 |     strids = [2, 2]," in found.err

    def test_remarks_on_one_place_share_it(self, remarkable, tmp_path):
        found = run_gradc("compile", remarkable, "-o", tmp_path / "o.onnx")
        *expected_message, written = found.err.splitlines()
        assert written.startswith(f"wrote {tmp_path / 'o.onnx'}: ")
        kinds = ["quote" if line.startswith(" ") else "remark" for line in expected_message]
        assert kinds == ["remark", "remark", "quote", "quote"]


class TestQuiet:
    @pytest.mark.parametrize("flag", ["-q", "--quiet"])
    @pytest.mark.parametrize("command", ["compile", "run", "verify", "inspect", "explain"])
    def test_no_remarks(self, command: str, flag: str, remarkable, tmp_path):
        model = ("-o", tmp_path / "o.onnx") if command == "compile" else ()
        loud, quiet = run_gradc(command, remarkable, *model), run_gradc(command, remarkable, *model, flag)
        assert "auto_pad same_upper axis H" in loud.err + loud.out
        assert (quiet.code, quiet.err) == (0, "")
        assert "remark: " not in quiet.out

    def test_what_was_asked_for_and_errors_are_said(self, remarkable, bad, tmp_path):
        found = run_gradc("compile", remarkable, "-o", tmp_path / "o.onnx", "-q", "--timing")
        assert found.err.startswith("pass")
        assert run_gradc("compile", bad, "-o", tmp_path / "o.onnx", "-q").err == run_gradc("inspect", bad).err

    def test_json_keeps_its_keys(self, remarkable):
        quiet = run_gradc("inspect", remarkable, "--json", "-q")
        assert quiet.out == run_gradc("inspect", remarkable, "--json").out
        assert json.loads(quiet.out)["remarks"]


class TestTerminal:
    def test_an_error_in_colours(self, bad):
        code, expected_message = on_terminal(["inspect", bad])
        assert code == 4
        assert f"{RED}error" in expected_message
        assert f"{BOLD}{bad}:" in expected_message
        assert "\x1b[1;32m^" in expected_message
        assert without_colours(expected_message).splitlines() == run_gradc("inspect", bad).err.splitlines()

    def test_what_was_compiled_in_one_line(self, tmp_path):
        path = tmp_path / "o.onnx"
        code, expected_message = on_terminal(["compile", RESIZE, "-o", path], columns=200)
        found = re.fullmatch(r"wrote (.*): (\d+) nodes, (\S+ kB), opset 18, cpu\n", expected_message)
        assert code == 0
        assert found is not None
        assert found[1] == str(path)
        assert int(found[2]) == len(onnx.load(path).graph.node)
        assert found[3] == f"{path.stat().st_size / 1000:.3g} kB"
        assert run_gradc("compile", RESIZE, "-o", path).err == expected_message, "a program reads the same"
        assert json.loads(run_gradc("compile", RESIZE, "-o", path, "--diagnostics", "json").err) == {
            **dict.fromkeys(ERROR_KEYS),
            "severity": "note",
            "message": expected_message.rstrip("\n"),
        }

    def test_a_remark_in_colours(self, remarkable, tmp_path):
        _, expected_message = on_terminal(["compile", remarkable, "-o", tmp_path / "o.onnx"])
        assert f"{CYAN}remark" in expected_message

    def test_a_usage_error_in_colours(self):
        code, expected_message = on_terminal(["complie"])
        assert code == 2
        assert f"{RED}Error" in expected_message
        assert "Did you mean compile" in expected_message

    def test_the_chosen_strategy_is_marked(self):
        _, expected_message = on_terminal(["explain", GRAPH], columns=120)
        (row,) = (
            line for line in expected_message.splitlines() if without_colours(line).lstrip().startswith("*")
        )
        assert "\x1b[32m" in row
        assert "───" in expected_message

    @pytest.mark.parametrize("columns", [60, 80, 160])
    @pytest.mark.parametrize("command", ["explain", "verify"])
    def test_nothing_is_wider_than_the_terminal(self, command: str, columns: int):
        _, expected_message = on_terminal([command, GRAPH], columns=columns)
        tables = [line for line in without_colours(expected_message).splitlines() if "  " in line.strip()]
        assert tables
        assert max(map(len, tables)) <= columns

    def test_a_narrow_terminal_loses_nothing(self):
        _, expected_message = on_terminal(["verify", GRAPH, "--report"], columns=40)
        assert "…" not in expected_message
        words = without_colours(expected_message).split()
        assert {"diff_src", "1x28x28x32", "absolute", "ulps", "median"} <= set(words)

    @pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_no_colours_where_none_are_wanted(self, bad, environment):
        _, expected_message = on_terminal(["inspect", bad], **environment)
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", expected_message)
        assert "error" in expected_message

    def test_streams_are_judged_separately(self, bad):
        command = [sys.executable, "-m", "gradc.cli.main", "explain", str(GRAPH), "--strict"]
        with terminal(100) as (stream, expected_message):
            done = subprocess.run(command, cwd=ROOT, stderr=stream, stdout=subprocess.PIPE, check=False)
        assert "\x1b[" not in done.stdout.decode()
        with terminal(100) as (stream, expected_message):
            command[3:] = ["inspect", str(bad)]
            done = subprocess.run(command, cwd=ROOT, stdout=stream, stderr=subprocess.PIPE, check=False)
        assert "\x1b[" not in done.stderr.decode()
        assert expected_message == [""]


class TestBars:
    PROBLEM = "conv_backward_data,f32,NCX,diff_dst=1x4x5x5,weights=4x3x3x3"

    def test_a_benchmark_has_one_at_once(self):
        pytest.importorskip("onnxruntime")
        options = ("--peers", "none", "--threads", 1, "--budget", 0)
        code, expected_message = on_terminal(["bench", self.PROBLEM, *options], columns=200, bars=True)
        assert code == 0
        assert re.search(r"0/1\S* conv_backward_data", expected_message)
        bar, _, rest = expected_message.partition("\x1b[?25h\r\x1b[1A\x1b[2K")
        assert "━" in bar
        assert "━" not in rest, "it is gone before the table"

    def test_what_takes_long_has_one_after_a_while(self):
        slow = f"{sys.executable} -c 'import time; time.sleep(0.4)' {{}}"
        code, expected_message = on_terminal(
            ["reduce", GRAPH, "--interesting", slow, "--tests", 6], bars=True
        )
        assert code == 0
        assert re.search(r"[2-6]/6\S* 1 op on ", expected_message)


class TestPipe:
    @pytest.mark.parametrize("command", ["explain", "verify", "inspect"])
    def test_plain_text(self, command: str):
        found = run_gradc(command, GRAPH)
        assert "\x1b" not in found.out + found.err

    def test_colours_that_are_asked_for(self, bad, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert RED in run_gradc("inspect", bad).err
        assert "\x1b[32m" in run_gradc("explain", GRAPH).out

    def test_no_bar(self, tmp_path):
        assert "it/s" not in run_gradc("verify", GRAPH).err
        assert "\x1b" not in run_gradc("reduce", GRAPH, "--interesting", "true {}", "--tests", 5).err


class TestDiagnosticsForPrograms:
    def test_an_error(self, bad):
        found = run_gradc("inspect", bad, "--diagnostics", "json")
        (line,) = found.err.splitlines()
        expected_message = json.loads(line)
        assert list(expected_message) == ERROR_KEYS
        assert (expected_message["severity"], expected_message["file"], expected_message["exit_code"]) == (
            "error",
            str(bad),
            4,
        )
        assert expected_message["subject"].startswith("ConvolutionBackwardData")
        assert expected_message["message"].startswith("groups: given 0")
        rows = bad.read_text(encoding="utf-8").splitlines()
        assert rows[expected_message["line"] - 1][expected_message["column"] - 1] == "0"

    @pytest.mark.parametrize(
        ("arguments", "message", "code"),
        [
            (["complie", "--diagnostics=json"], "No such command 'complie'.", 2),
            (["run", "--diagnostics", "json"], "Missing argument 'IN...'.", 2),
            (["run", "--nothing", "--diagnostics", "json"], "No such option", 2),
            (["inspect", "none.json", "--diagnostics", "json"], "cannot read none.json: ", 4),
        ],
    )
    def test_errors_without_a_place(self, arguments, message: str, code: int):
        found = run_gradc(*arguments)
        expected_message = json.loads(found.err)
        assert list(expected_message) == ERROR_KEYS
        assert expected_message["message"].startswith(message)
        assert (
            found.code,
            expected_message["exit_code"],
            expected_message["file"],
            expected_message["line"],
        ) == (code, code, None, None)

    def test_remarks_and_notes(self, remarkable, tmp_path):
        options = ("-o", tmp_path / "o.onnx", "--timing", "--check", "--diagnostics", "json")
        expected_message = [
            json.loads(line) for line in run_gradc("compile", remarkable, *options).err.splitlines()
        ]
        assert {entry["severity"] for entry in expected_message} == {"remark", "note"}
        assert all(list(entry) == ERROR_KEYS and entry["exit_code"] is None for entry in expected_message)

    def test_gradc_opt(self, bad):
        found = run_opt(bad, "--diagnostics", "json")
        assert list(json.loads(found.err)) == ERROR_KEYS
        assert found.code == json.loads(found.err)["exit_code"] == 4

    def test_another_form(self, bad):
        found = run_gradc("inspect", bad, "--diagnostics", "jsn")
        assert found.code == 2
        assert "Did you mean json?" in found.err


class TestNearest:
    def test_a_command(self):
        assert "Did you mean inspect?" in run_gradc("inspct").err

    def test_a_file_in_place_of_a_command(self):
        assert f"gradc compile {GRAPH} -o FILE.onnx" in run_gradc(GRAPH).err

    def test_an_option(self):
        assert "--target" in run_gradc("compile", GRAPH, "--tagret", "cpu").err
        assert "did you mean --verify-diagnostics or " in run_opt("--verify-diagnostcs").err

    def test_a_word(self):
        assert "; did you mean elided?" in run_opt("-t", "elidd", GRAPH).line
        assert "; did you mean json?" in run_opt("--diagnostics", "jsn", GRAPH).line
        assert "Did you mean cuda?" in run_gradc("compile", GRAPH, "--target", "cudaa").err

    @pytest.mark.parametrize("command", ["compile", "run", "verify", "explain", "inspect", "reduce"])
    def test_a_file(self, command: str, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("decoder.json").write_text("{}")
        more = ["-o", "o.onnx"] if command == "compile" else []
        assert run_gradc(command, "decodr.json", *more).line.endswith("; did you mean decoder.json?")

    def test_other_files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("graph.mlir", "model.onnx", "inputs.npz"):
            Path(name).write_text("")
        assert run_opt("grph.mlir").line.endswith("; did you mean graph.mlir?")
        assert run_opt("--replay", "grph.mlir").line.endswith("; did you mean graph.mlir?")
        assert run_gradc("run", "modl.onnx").line.endswith("; did you mean model.onnx?")
        found = run_gradc("run", GRAPH, "--inputs", "input.npz")
        assert found.lines[-1].endswith("; did you mean inputs.npz?")
        assert run_gradc("bench", "grph.mlir").line.endswith("; did you mean graph.mlir?")

    def test_a_folder_that_is_not_there(self, tmp_path):
        assert run_gradc("inspect", tmp_path / "none" / "g.json").line.endswith("No such file or directory")


class TestNamesInFiles:
    @pytest.mark.parametrize("command", [["inspect"], ["run"], ["bench"], ["explain"], ["verify"]])
    def test_a_terminal_obeys_none(self, command: list[str], tmp_path):
        """A name of a value may hold what rings the bell, or clears the screen."""
        x, y = (onnx.helper.make_tensor_value_info(name, 1, [2]) for name in ("x\x1b[2J", "y\x07"))
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", [x.name], [y.name])], "g", [x], [y])
        path = tmp_path / "model.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)
        expected_message = run_gradc(*command, path)
        assert not {"\x1b", "\x07"} & {*expected_message.out, *expected_message.err}


class TestHelp:
    def test_commands_in_sections(self):
        text = run_gradc("--help").out
        assert text.index("Compile and run:") < text.index("compile ") < text.index("Measure:")
        assert "Other commands:" not in text

    @pytest.mark.parametrize("command", ["compile", "run", "verify", "explain", "inspect", "bench", "doctor"])
    def test_an_example_each(self, command: str):
        text = run_gradc(command, "--help").out
        assert re.search(rf"^Example:\n  gradc {command}\b", text, re.MULTILINE)

    @pytest.mark.parametrize("command", ["", "compile", "bench", "reduce"])
    def test_it_fits_80_columns(self, command: str):
        _, expected_message = on_terminal([*filter(None, [command]), "--help"], columns=80)
        assert max(map(len, expected_message.splitlines())) <= 80
