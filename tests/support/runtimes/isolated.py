"""A runner in a process of its own, which a crash of the runtime ends in place of the tests."""

from __future__ import annotations

import atexit
import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from onnx import ModelProto
from support.runtimes.runner import Feeds, Runner

SECONDS = 60


class Isolated:
    """Runs what another runner does; raises RuntimeError where its process ends, or takes too long."""

    def __init__(self, runner: Runner, seconds: float = SECONDS) -> None:
        self.runner = runner
        self.seconds = seconds
        self.name = runner.name
        self._process: Any = None
        self._pipe: Connection | None = None
        atexit.register(self.stop)

    def missing(self) -> str | None:
        return self.runner.missing()

    def run(self, model: ModelProto, feeds: Feeds) -> list[list[np.ndarray]]:
        pipe = self._pipe or self._start()
        pipe.send((model.SerializeToString(), list(feeds)))
        try:
            if not pipe.poll(self.seconds):
                self.stop()
                raise RuntimeError(f"{self.name} runs for more than {self.seconds} s")
            outputs, error = pipe.recv()
        except (EOFError, ConnectionError):
            self.stop()
            raise RuntimeError(f"{self.name} ends the process") from None
        if error is not None:
            raise RuntimeError(error)
        return outputs

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, its_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.runner, its_end), daemon=True)
        self._process.start()
        its_end.close()
        return self._pipe

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _serve(runner: Runner, pipe: Connection) -> None:
    while True:
        data, feeds = pipe.recv()
        try:
            pipe.send((runner.run(ModelProto.FromString(data), feeds), None))
        except Exception as error:
            pipe.send((None, f"{type(error).__name__}: {error}"))
