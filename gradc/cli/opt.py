"""gradc-opt: xdsl-opt with gradc's dialects, passes and pipelines.

    gradc-opt graph.mlir -p infer-types,resolve-auto-pad
    gradc-opt graph.json -p 'lower{target=cuda opset=20}'
    gradc-opt --replay gradc-crash-0123456789ab.mlir

An input error is one line on stderr, `file:line:col: error: ...`, and the quoted source line. Exit codes: 0,
2 usage, 3 unsupported, 4 bad input; with `--verify-diagnostics` the error goes to stdout and the code is 0.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.target import Target as OutputTarget
from xdsl.xdsl_opt_main import xDSLOptMain

from dialects import context
from dialects.support import limits, option_names
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    UsageError,
    suggest,
)
from gradc.cli.errors import one_line_errors
from gradc.cli.interrupts import end_interrupted
from gradc.compiler.pipeline_text import PIPELINES, parse_passes, usage
from gradc.files.reading import display_name, read_bytes, read_error
from gradc.graph.checks import verify
from gradc.graph.printing import elided_text
from gradc.importers import IMPORTERS, format_of_suffix, importer
from gradc.importers.mlir.parser import LocatingParser
from gradc.importers.text import decode
from gradc.terminal import messages, streams
from gradc.terminal.outputs import STDOUT, write_output
from gradc.terminal.streams import STDIN_NAME, read_stdin
from gradc.util.version import __version__
from passes.registry import all_passes

STDIN = "-"

HELP = {
    "input_file": "file to read; - for stdin, the default",
    "--frontend": "input format; default: by the file suffix, else mlir",
    "--disable-verify": "do not verify MLIR input, nor the module between passes",
    "--allow-unregistered-dialect": "accept ops of unknown dialects, in generic form",
    "--no-implicit-module": "reject MLIR text without a builtin.module",
    "--target": "output format: mlir; elided: without the elements of large constants",
    "--output-file": "file to write; - for stdout, the default",
    "--passes": "comma-separated passes; --list-passes lists them",
    "--print-between-passes": "print the IR between passes to stdout",
    "--time-passes": "print the time of each pass to stdout",
    "--verify-diagnostics": "print errors in the input to stdout, and exit with code 0",
    "--parsing-diagnostics": "same as --verify-diagnostics",
    "--split-input-file": "process the parts between // ----- lines separately",
    "--print-op-generic": "print ops in generic form",
    "--print-no-properties": "with --print-op-generic, print properties as attributes",
    "--print-debuginfo": "print the source locations of ops",
    "--syntax-highlight": "print with colors",
    "--version": "show the versions of gradc and xDSL, and exit",
}
"""Help of xDSL's own options, except the one that is not supported."""

MLIR_OPTIONS = ("print_op_generic", "print_no_properties", "print_debuginfo", "syntax_highlight")
"""Options of `-t mlir`."""


@dataclass(frozen=True)
class ElidedTarget(OutputTarget):
    """Output of `-t elided`: MLIR without the elements of large constants."""

    name = "elided"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(elided_text(module))


class GradcOpt(xDSLOptMain):
    """The command. Raises GradcError for input errors, on construction and in `run`."""

    version_format = f"gradc-opt, version {__version__}, on xDSL {{xdsl_version}}"

    def __init__(self, description: str, args: Sequence[str] | None = None):
        super().__init__(description, args)
        self._check_arguments()

    def register_all_dialects(self) -> None:
        self.ctx = context()

    def register_all_passes(self) -> None:
        self.available_passes.update(all_passes())

    def register_all_targets(self) -> None:
        self.available_targets.update({"mlir": lambda: MLIRTarget, "elided": lambda: ElidedTarget})

    def register_all_frontends(self) -> None:
        self.available_frontends.update({form: partial(self._import, form) for form in IMPORTERS})
        self.available_frontends["mlir"] = self._parse_mlir

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        for action in arg_parser._actions:
            name = action.option_strings[-1] if action.option_strings else action.dest
            action.help = HELP.get(name, action.help if name == "--help" else argparse.SUPPRESS)
            if name == "--target":
                action.choices = tuple(self.available_targets)
        arg_parser.add_argument(
            "--replay",
            action="store_true",
            help="run a crash reproducer; exit code 70 if it fails",
        )
        arg_parser.add_argument(
            limits.OPTION,
            action="append",
            default=[],
            metavar="NAME=N",
            help="set a limit: ops=1M, file-bytes=2G; docs/limits.md lists them",
        )
        arg_parser.add_argument(
            messages.OPTION,
            choices=messages.FORMATS,
            default=messages.TEXT,
            help="format of stderr: text, or JSON",
        )
        arg_parser.add_argument("-q", "--quiet", action="store_true", help="print only errors and results")
        arg_parser.add_argument(
            "--list-passes", action="store_true", help="list passes, pipelines and strategies, and exit"
        )
        arg_parser.add_argument("--json", action="store_true", help="with --list-passes, print JSON")
        arg_parser.epilog = f"-p also takes the pipelines {', '.join(PIPELINES)}"
        # one line; argparse prints the whole usage
        arg_parser.error = lambda message: usage(message + _nearest(arg_parser, message))
        # argparse ignores a stdout that cannot be written
        arg_parser.print_help = lambda file=None: print(arg_parser.format_help(), end="", file=file)

    def _check_arguments(self) -> None:
        """Raise UsageError for options that would be ignored."""
        if self.args.shrink:
            usage("--shrink is not supported; gradc reduce shrinks failing graphs")
        if self.args.json and not self.args.list_passes:
            usage("--json needs --list-passes")
        if self.args.target == ElidedTarget.name and (
            unused := [n for n in MLIR_OPTIONS if getattr(self.args, n)]
        ):
            usage(f"--{unused[0].replace('_', '-')} applies to -t mlir, not to -t elided")

    def setup_pipeline(self) -> None:
        passes = parse_passes(self.args.passes, self.available_passes)
        self.args.passes = ",".join(str(pass_.spec()) for pass_ in passes)
        super().setup_pipeline()

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        path = self.args.input_file
        if path in (None, STDIN):
            return BytesIO(read_stdin()), "mlir"
        try:
            return BytesIO(read_bytes(path)), format_of_suffix(path) or "mlir"
        except OSError as error:
            raise read_error(path, error) from None

    def get_input_name(self) -> str:
        return STDIN_NAME if self.args.input_file in (None, STDIN) else display_name(self.args.input_file)

    def run(self) -> None:
        quiet = messages.quiet_mode() if self.args.quiet else nullcontext()
        with quiet, limits.using(limits.parse(self.args.limit)):
            self._run()

    def _run(self) -> None:
        chunks, extension = self.prepare_input()
        texts = []
        for stream, offset in chunks:
            with stream:
                texts.append(self._text(stream, extension, offset))
        text = "// -----\n".join(texts)
        write_output(self.args.output_file or STDOUT, text.encode(), "MLIR")

    def _text(self, stream: IO[bytes], extension: str, offset: int) -> str:
        """Return the output of one chunk, or its diagnostic with --verify-diagnostics."""
        try:
            module = self.parse_chunk(stream, extension, offset)
            assert module is not None
            self.apply_passes(module)
        except GradcError as error:
            if self.args.verify_diagnostics or self.args.parsing_diagnostics:
                return f"{error}\n"
            raise
        return self.output_resulting_program(module)

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        """Parse a chunk behind as many empty lines as precede it, so that its positions are right."""
        return super().parse_chunk(BytesIO(b"\n" * start_offset + chunk.read()), file_extension)

    def _parse_mlir(self, stream: IO[bytes]) -> ModuleOp:
        file = self.get_input_name()
        parser = LocatingParser(file)
        parser.ctx.allow_unregistered = self.ctx.allow_unregistered
        module = parser.read(decode(stream.read(), file), not self.args.no_implicit_module)
        if not self.args.disable_verify:
            with parser.locating_errors():
                verify(module)
        return module

    def _import(self, form: str, stream: IO[bytes]) -> ModuleOp:
        file = self.get_input_name()
        return importer(form)(decode(stream.read(), file), file, None)


def _nearest(parser: argparse.ArgumentParser, message: str) -> str:
    """Return a suggestion for the unknown option or choice that a message of argparse names."""
    option = re.search(r"unrecognized arguments: .*?(--[\w-]+)", message)
    choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    hint = ""
    if option is not None:
        hint = suggest(option[1], [word for action in parser._actions for word in action.option_strings])
    elif choice is not None:
        hint = suggest(choice[1], re.findall(r"[\w-]+", choice[2]))
    return f"; {hint}" if hint else ""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    streams.prepare()
    form = messages.requested_format(sys.argv[1:] if args is None else args)
    with messages.using_format(form), option_names.using(option_names.Place.PASSES):
        try:
            with one_line_errors():
                return _flush(_main(args))
        except SystemExit as ended:
            return int(ended.code or 0)
        except KeyboardInterrupt:
            return end_interrupted()


def _flush(code: int) -> int:
    """Flush stdout, while a write error can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def _main(args: Sequence[str] | None) -> int:
    try:
        opt = GradcOpt("gradc's dialects and passes", args)
    except SystemExit as ended:  # --help, --version
        return int(ended.code or 0)
    if opt.args.list_passes:
        _list_passes(opt.args.json)
    elif opt.args.replay:
        return _replay(opt.args.input_file)
    else:
        opt.run()
    return 0


def _list_passes(as_json: bool) -> None:
    from gradc.cli import opt_listing
    from gradc.terminal.tables import look

    found = opt_listing.list_passes()
    print(opt_listing.as_json(found) if as_json else opt_listing.as_text(found, look(sys.stdout)))


def _replay(path: str | None) -> int:
    from gradc.reduction.replay import replay

    if path in (None, STDIN):
        raise UsageError(Diagnostic("error", "--replay needs a file"))
    return replay(path, messages.note)


if __name__ == "__main__":
    sys.exit(main())
