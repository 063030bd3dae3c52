"""gradc-opt: xdsl-opt with gradc's dialects, passes and pipelines.

    gradc-opt graph.mlir -p infer-types,resolve-auto-pad
    gradc-opt graph.json -p 'lower{target=cuda opset=20}'

A user's mistake is one line on stderr, `file:line:col: error: ...`. Exit codes: 0, 2 usage, 3
unsupported, 4 bad input; with `--verify-diagnostics` the line goes to stdout and the code is 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import IO, ClassVar, NoReturn, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.target import Target as OutputTarget
from xdsl.xdsl_opt_main import xDSLOptMain

from dialects import DIALECTS
from dialects.support.diagnostics import Diagnostic, GradcError, UsageError, nearest, sentence, violation
from gradc.files import write_whole
from gradc.importers.mlir_text import PlacingParser
from gradc.importers.modules import verify
from gradc.importers.text import decode
from gradc.printing import elided
from passes import all_passes, pipelines
from passes.select_strategy import AUTO
from passes.target import DEFAULT_OPSET, Target

STDIN = "-"


@dataclass(frozen=True)
class CanonicalizePipeline(ArgSpecConvertible):
    """`canonicalize`: every size and pad that compile time knows is explicit."""

    name: ClassVar[str] = "canonicalize"

    def text(self) -> str:
        return pipelines.canonicalize()


@dataclass(frozen=True)
class LowerPipeline(ArgSpecConvertible):
    """`lower`: from source dialects to ONNX, as `gradc compile` does it."""

    name: ClassVar[str] = "lower"

    target: str = "cpu"
    opset: int = DEFAULT_OPSET
    threads: int | None = None
    strategy: str = AUTO

    def text(self) -> str:
        return pipelines.lower(Target.of(self.target, self.opset, self.threads), self.strategy)


PIPELINES = {pipeline.name: pipeline for pipeline in (CanonicalizePipeline, LowerPipeline)}


@dataclass(frozen=True)
class ElidedTarget(OutputTarget):
    """`-t elided`: MLIR without the elements of large constants, for people."""

    name = "elided"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(elided(module))


class GradcOpt(xDSLOptMain):
    """Raises GradcError for a user's mistake, on construction and in `run`."""

    version_format = "gradc-opt, on xdsl {xdsl_version}"

    def register_all_dialects(self) -> None:
        for name, factory in DIALECTS.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        self.available_passes.update(all_passes())

    def register_all_targets(self) -> None:
        self.available_targets.update({"mlir": lambda: MLIRTarget, "elided": lambda: ElidedTarget})

    def register_all_frontends(self) -> None:
        self.available_frontends.update({"mlir": self._parse_mlir, "json": self._parse_json})

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.epilog = f"-p takes the named pipelines {', '.join(PIPELINES)} as well"
        arg_parser.error = _usage  # one line; argparse would print the whole usage

    def setup_pipeline(self) -> None:
        passes = parse_passes(self.args.passes, self.available_passes)
        self.args.passes = ",".join(str(pass_.spec()) for pass_ in passes)
        super().setup_pipeline()

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        path = self.args.input_file
        if path in (None, STDIN):
            return sys.stdin.buffer, "mlir"
        try:
            return open(path, "rb"), "json" if Path(path).suffix == ".json" else "mlir"
        except OSError as error:
            raise violation(f"cannot read {path}: {error.strerror}") from None

    def get_input_name(self) -> str:
        return "<stdin>" if self.args.input_file in (None, STDIN) else self.args.input_file

    def run(self) -> None:
        chunks, extension = self.prepare_input()
        texts = []
        for stream, offset in chunks:
            with stream:
                texts.append(self._text(stream, extension, offset))
        text = "// -----\n".join(texts)
        if self.args.output_file is None:
            sys.stdout.write(text)
        else:
            write_whole(self.args.output_file, text.encode())

    def _text(self, stream: IO[bytes], extension: str, offset: int) -> str:
        """What a chunk of the input becomes; its diagnostic where that was asked for."""
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
        """A chunk from further down is read below as many empty lines, so that its places are right."""
        return super().parse_chunk(BytesIO(b"\n" * start_offset + chunk.read()), file_extension)

    def _parse_mlir(self, stream: IO[bytes]) -> ModuleOp:
        file = self.get_input_name()
        parser = PlacingParser(file)
        parser.ctx.allow_unregistered = self.ctx.allow_unregistered
        module = parser.read(decode(stream.read(), file))
        if not self.args.disable_verify:
            verify(module)
        return module

    def _parse_json(self, stream: IO[bytes]) -> ModuleOp:
        from gradc.importers.onednn_json import import_json

        return import_json(stream.read(), self.get_input_name())


def parse_passes(text: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> list[ModulePass]:
    """The passes of a `-p` string, named pipelines expanded; UsageError names pass and option."""
    passes: list[ModulePass] = []
    for spec in _specs(text):
        if spec.name in PIPELINES:
            passes += parse_passes(_with_options(PIPELINES[spec.name], spec).text(), available)
        elif spec.name in available:
            passes.append(_with_options(available[spec.name](), spec))
        else:
            known = [*available, *PIPELINES]
            _usage(sentence(f"no pass {spec.name}", hint=nearest(spec.name, known) or f"known: {known}"))
    return passes


def _specs(text: str) -> list[ArgSpec]:
    try:
        return list(parse_pipeline(text))
    except ArgSpecParseError:
        form = "pass,pass{option=value option=value},.."
        _usage(sentence("-p cannot be read", given=repr(text), expected=form))


SpecT = TypeVar("SpecT", bound=ArgSpecConvertible)


def _with_options(cls: type[SpecT], spec: ArgSpec) -> SpecT:
    """The instance that a spec describes. xDSL's own errors leave out the pass or the option."""
    known = {field.name: field for field in fields(cls)}  # pyright: ignore[reportArgumentType]
    for name, values in spec.parameters.items():
        what = f"pass {spec.name}, option {name}"
        if name.replace("-", "_") not in known:
            options = ", ".join(known) or "none"
            _usage(sentence(f"{what}: there is no such option", expected=options, hint=nearest(name, known)))
        try:
            cls.from_spec(ArgSpec(spec.name, {name: values}))
        except ValueError:
            shown = ",".join(map(str, values)) or "no value"
            _usage(sentence(what, given=shown, expected=known[name.replace("-", "_")].type))
    return cls.from_spec(spec)


def _usage(message: str) -> NoReturn:
    raise UsageError(Diagnostic("error", message))


def main(args: Sequence[str] | None = None) -> int:
    """The exit code; only `--help` and `--version` exit by themselves."""
    try:
        GradcOpt("gradc's dialects and passes", args).run()
    except GradcError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0
