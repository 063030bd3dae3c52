"""Training loop over a folder that `gradc train` wrote. Copy this file: it needs numpy and onnxruntime alone.

trainer = Trainer("run", threads=1)
for batch in batches:
    loss = trainer.step(batch, lr=1e-3)
trainer.save("checkpoint.safetensors")
trainer.export("trained.onnx")
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

FORMAT = 1  # version of the folder

_TYPES = """F64 f8 double, F32 f4 float, F16 f2 float16, BF16 u2 bfloat16, I64 i8 int64, I32 i4 int32,
I16 i2 int16, I8 i1 int8, U64 u8 uint64, U32 u4 uint32, U16 u2 uint16, U8 u1 uint8, BOOL ? bool"""
_ROWS = [row.split() for row in _TYPES.split(",")]

DTYPES = {code: np.dtype(dtype) for code, dtype, _ in _ROWS}  # by the type in a .safetensors file

_CODES = {f"tensor({ort})": code for code, _, ort in _ROWS}
_BF16 = 16  # in onnx.TensorProto

Batch = Mapping[str, Any]
Reduce = Callable[[np.ndarray], Any] | None
StrPath = str | os.PathLike[str]


class TrainerError(ValueError):
    """An argument, a file or a folder that a Trainer cannot use."""


@dataclass(eq=False)
class Tensor:
    """An array, or an OrtValue that onnxruntime has made, with its type in a .safetensors file."""

    code: str
    stored: Any

    @property
    def array(self) -> np.ndarray:
        return self.stored if isinstance(self.stored, np.ndarray) else _copy(self.stored)

    @property
    def value(self) -> onnxruntime.OrtValue:
        if not isinstance(self.stored, np.ndarray):
            return self.stored
        if self.code == "BF16":
            return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(self.stored, _BF16)
        return onnxruntime.OrtValue.ortvalue_from_numpy(self.stored)


class Model:
    """A session with the types of its inputs; `run` reads and writes bound arrays without copies."""

    def __init__(self, path: Path, threads: int | None, providers: Sequence[Any] | None):
        options = onnxruntime.SessionOptions()
        options.enable_mem_pattern = False  # halves the memory of a step at no cost in time
        options.log_severity_level = 3
        options.intra_op_num_threads = threads or 0
        try:
            used = providers or ["CPUExecutionProvider"]
            session = onnxruntime.InferenceSession(os.fspath(path), options, providers=used)
        except Exception as error:
            raise TrainerError(f"onnxruntime cannot load {path}: {error}") from error
        self._session, self._binding = session, session.io_binding()
        given: Any = session.get_inputs()
        self.codes: dict[str, str] = {one.name: _CODES.get(str(one.type), str(one.type)) for one in given}
        self.shapes: dict[str, list[Any]] = {one.name: list(one.shape) for one in given}
        self.outputs = [one.name for one in session.get_outputs()]
        self.updates: dict[str, str] = {}

    def check(self, what: str, name: str, given: Any, sizes: dict[str, tuple[int, str]]) -> Tensor:
        """Return an array as an input, or raise TrainerError; `sizes` has the dynamic sizes found so far."""
        code, shape = self.codes[name], self.shapes[name]
        array = np.asarray(given)
        bits = array.view(np.uint16) if code == "BF16" and array.dtype.name == "bfloat16" else array
        if bits.dtype != DTYPES.get(code):
            kind = f"{DTYPES.get(code, code)}{' (the bits of bfloat16)' if code == 'BF16' else ''}"
            raise TrainerError(f"{what}: given dtype {array.dtype.name}, expected {kind}")
        seen = [size if isinstance(dim, int) else dim for size, dim in zip(bits.shape, shape, strict=False)]
        if len(shape) != bits.ndim or seen != shape:
            raise TrainerError(f"{what}: given shape {_shape(bits.shape)}, expected {_shape(shape)}")
        for size, dim in zip(bits.shape, shape, strict=True):
            other, where = sizes.setdefault(dim, (size, what)) if isinstance(dim, str) else (size, what)
            if other != size:
                raise TrainerError(f"{what}: size {dim} is {size}, but {other} in {where}")
        return Tensor(code, np.ascontiguousarray(bits).reshape(bits.shape))

    def zeros(self, name: str) -> Tensor:
        return Tensor(self.codes[name], np.zeros(self.shapes[name], DTYPES[self.codes[name]]))

    def run(self, inputs: Mapping[str, Tensor], into: Mapping[str, Tensor]) -> dict[str, Any]:
        """Run on `inputs`, write the outputs named in `into` there, and return the others as OrtValues."""
        for name in self.codes:
            self._binding.bind_ortvalue_input(name, inputs[name].value)
        for name in self.outputs:
            if name in into:
                self._binding.bind_ortvalue_output(name, into[name].value)
            else:
                self._binding.bind_output(name)
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception as error:
            raise TrainerError(f"onnxruntime cannot run the model: {error}") from error
        found = zip(self.outputs, self._binding.get_outputs(), strict=True)
        return {name: value for name, value in found if name not in into}


def _copy(value: Any) -> np.ndarray:
    if value.data_type() != "tensor(bfloat16)":
        return np.array(value.numpy())
    content = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return np.frombuffer(content, np.uint16).reshape(value.shape()).copy()


class Trainer:
    """Parameters and optimizer state of a folder, and the models that update and evaluate them.

    `steps` counts the updates. `seed` selects the random numbers of Dropout. `outputs` has the other outputs
    of the last step by name. A loss of NaN is returned like any other: the caller checks it.
    """

    def __init__(
        self, folder: StrPath, threads: int | None = None, providers: Any = None, all_reduce: Reduce = None
    ):
        self.folder = Path(folder)
        self.facts = facts = read_facts(self.folder)
        self._options = (threads, providers)
        self._all_reduce = all_reduce
        self._eval: Model | None = None
        self.accumulates = bool(facts.get("accumulate"))
        if all_reduce is not None and not self.accumulates:
            raise TrainerError("all_reduce needs a folder of `gradc train --accumulate N`; N may be 1")
        names = ("gradients.onnx", "apply.onnx") if self.accumulates else ("step.onnx",)
        self._models = [Model(self.folder / name, threads, providers) for name in names]
        self.outputs: dict[str, np.ndarray] = {}
        updates: dict[str, str] = {**facts["updates"], **facts.get("gradients", {})}
        for model in self._models:
            has = {*model.codes, *model.outputs}
            model.updates = {old: new for old, new in updates.items() if old in has and new in has}
        self._gradients = list(facts.get("gradients", {}))
        self._batch: list[str] = [*facts["batch"], *facts["labels"]]
        self._stored = [*facts["parameters"], *facts["statistics"]]
        self._names = [*self._stored, *facts["states"]]
        self.load(self.folder)

    def __repr__(self) -> str:
        names = self.facts["parameters"]
        return (
            f"<gradc.Trainer {self.folder}: {_count(len(names), 'parameter')}, {_count(self.steps, 'step')}>"
        )

    def step(self, batch: Batch | Sequence[Batch], lr: float | None = None) -> float:
        """Update the parameters once, and return the loss before the update.

        With accumulation a batch is split along the first axes, or is a list of parts; they are averaged.
        """
        parts, first = self._parts(batch), self._models[0]
        checked = [self._check_batch(first, part, "step") for part in parts]
        inputs = [{**part, **self._scalars(lr, index)} for index, part in enumerate(checked)]
        self._now.update({name: first.zeros(name) for name in self._gradients})
        losses = [self._run(first, each) for each in inputs]
        if self.accumulates:
            self._apply(len(parts), inputs[0])
        self.steps += 1
        return sum(losses) / len(losses)

    def evaluate(self, batch: Batch, ema: bool = False) -> dict[str, np.ndarray]:
        """Return loss and outputs in inference mode, by name; with `ema` those of the moving averages."""
        self._eval = self._eval or Model(self.folder / "eval.onnx", *self._options)
        given = self._check_batch(self._eval, batch, "evaluate")
        names = [name for name in self._eval.codes if name not in given]
        state = {name: self._state(self.facts["evaluation"].get(name, name), ema) for name in names}
        found = self._eval.run({**given, **state}, {})
        return {name: _copy(value) for name, value in found.items()}

    def parameters(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters by name; bfloat16, which numpy lacks, as the bits in uint16."""
        return {name: np.array(self._now[name].array) for name in self.facts["parameters"]}

    def assign(self, values: Mapping[str, Any]) -> None:
        """Replace some parameters or running statistics, as by averages over several trainers."""
        for name, given in values.items():
            model = next((one for one in self._models if name in one.codes), None)
            if model is None or name not in self._stored:
                raise TrainerError(f"assign(): {name} is no parameter or running statistic of the run")
            self._now[name] = model.check(f"assign(): {name}", name, np.array(given), {})

    def _state(self, name: str, ema: bool) -> Tensor:
        averages = {one["of"]: own for own, one in self.facts["states"].items() if one["slot"] == "ema"}
        if ema and not averages:
            raise TrainerError("the folder has no moving averages; `gradc train --ema X` adds them")
        return self._now[averages.get(name, name) if ema else name]

    def _run(self, model: Model, inputs: Mapping[str, Tensor]) -> float:
        """Run a model, replace the arrays that it updates, keep its other outputs; return the loss."""
        pairs = model.updates
        into = {new: self._now[old] for old, new in pairs.items()} if self.facts.get("in_place") else {}
        found = model.run({**self._now, **inputs}, into)
        for old, new in pairs.items():
            if new in found:
                self._now[old] = Tensor(model.codes[old], found.pop(new))
        self.outputs = {name: _copy(value) for name, value in found.items()} or self.outputs
        return float(_widen(self.outputs.pop("loss", np.zeros(()))))

    def _apply(self, count: int, scalars: Mapping[str, Tensor]) -> None:
        if self._all_reduce is not None:
            count = self._reduce(self._all_reduce, count)
        self._run(self._models[1], {**scalars, "count": Tensor("F32", np.array(count, np.float32))})

    def _reduce(self, reduce: Callable[[np.ndarray], Any], count: int) -> int:
        """Replace the sums of gradients by their averages over all processes; return the new count."""
        gradients = [self._now[name] for name in self._gradients]
        wide = [_widen(one.array, one.code).reshape(-1) for one in gradients]
        flat = np.concatenate([*wide, np.zeros(0, np.float32)]) / np.float32(count)
        result = reduce(flat)
        found = flat if result is None else np.asarray(result)
        if found.shape != flat.shape:
            raise TrainerError(f"all_reduce: given shape {found.shape}, expected {flat.shape}")
        parts = np.split(found, np.cumsum([one.size for one in wide])[:-1])
        for name, one, part in zip(self._gradients, gradients, parts, strict=True):
            self._now[name] = Tensor(one.code, _narrow(part, one.code).reshape(one.array.shape))
        return 1

    def _parts(self, batch: Batch | Sequence[Batch]) -> list[Batch]:
        if not isinstance(batch, Mapping):
            if not self.accumulates or not batch:
                expected = "a list of batches, not empty, only of `gradc train --accumulate N`"
                raise TrainerError(f"step() takes {expected}")
            return list(batch)
        count = int(self.facts.get("accumulate") or 1)
        if count == 1:
            return [batch]
        pieces: list[dict[str, Any]] = [{} for _ in range(count)]
        for name, array in batch.items():
            shape = np.shape(array)
            if not shape or shape[0] % count:
                text = f'input "{name}" of shape {_shape(shape)} is not divisible by {count}'
                raise TrainerError(f"{text} along its first axis; give a list of batches instead")
            for piece, part in zip(pieces, np.split(np.asarray(array), count), strict=True):
                piece[name] = part
        return list(pieces)

    def _check_batch(self, model: Model, batch: Batch, method: str) -> dict[str, Tensor]:
        """Return the batch as tensors. Raises TrainerError for a wrong name, type or shape."""
        expected = [name for name in self._batch if name in model.codes]
        if unknown := [str(name) for name in batch if name not in self._batch]:
            raise TrainerError(f"{method}(): unknown input {unknown[0]!r}, expected {_join(expected)}")
        if missing := [name for name in expected if name not in batch]:
            raise TrainerError(f"{method}(): missing {_join(missing)}, expected {_join(expected)}")
        sizes: dict[str, tuple[int, str]] = {}
        return {name: model.check(f'input "{name}"', name, batch[name], sizes) for name in expected}

    def _scalars(self, lr: float | None, part: int) -> dict[str, Tensor]:
        """Return learning rate, number of the step, and seed: `seed` in its upper half, the number below."""
        if lr is not None and "lr" not in self.facts["scalars"]:
            raise TrainerError("step() takes no lr=: the schedule of the learning rate is part of the step")
        if lr is None and "lr" in self.facts["scalars"]:
            raise TrainerError("step() needs lr=: the learning rate is an input of the step")
        step = self.steps + 1
        seed = (self.seed % 2**31 << 32) + (step + (part << 24)) % 2**32
        rate = Tensor("F32", np.array(lr or 0, np.float32))
        return {"lr": rate, "step": _int64(step), "seed": _int64(seed)}

    def save(self, path: StrPath | None = None) -> None:
        """Write parameters, state, `steps` and `seed` to one file; without a path, into the folder."""
        tensors = {name: self._now[name] for name in self._names}
        counts = {"step": _int64(self.steps), "seed": _int64(self.seed)}
        if path is not None:
            return write_safetensors(path, {**tensors, **counts})
        first = {name: tensors.pop(name) for name in self._stored}
        write_safetensors(self.folder / "params.safetensors", first)
        write_safetensors(self.folder / "state.safetensors", {**tensors, **counts})

    def load(self, path: StrPath) -> None:
        """Continue from a folder or a file that `save` wrote. Raises TrainerError for one of another run."""
        path = Path(path)
        files = [path / "params.safetensors", path / "state.safetensors"] if path.is_dir() else [path]
        found = {name: tensor for file in files for name, tensor in read_safetensors(file).items()}
        counts = {name: int(found.pop(name).array) for name in ("step", "seed") if name in found}
        if missing := [name for name in self._names if name not in found]:
            raise TrainerError(f"{path} lacks {_join(missing)}: it belongs to another training run")
        if unknown := [name for name in found if name not in self._names]:
            raise TrainerError(f"{path} also has {_join(unknown)}: it belongs to another training run")
        for model in self._models:
            for name in (name for name in model.codes if name in self._names):
                found[name] = model.check(f'tensor "{name}" of {path}', name, found[name].array, {})
        self.steps, self.seed = counts.get("step", 0), counts.get("seed", 0)
        self._now = found

    def export(self, path: StrPath, ema: bool = False) -> None:
        """Write model.onnx with the trained parameters, or with `ema` their moving averages."""
        source = self.folder / "model.onnx"
        content = _read(source)
        if hashlib.sha256(content).hexdigest() != self.facts.get("model", {}).get("sha256"):
            raise TrainerError(f"{source} is not the file that gradc wrote; write the folder again")
        places = self.facts["export"]
        if any("offset" not in one for one in places.values()):
            raise TrainerError(f"{source} has weights in another file; use `gradc train --export`")
        for one in places.values():
            tensor, first = self._state(one["from"], ema), one["offset"]
            array = _narrow(_widen(tensor.array, tensor.code), one["dtype"])
            content[first : first + one["bytes"]] = _bytes(array)
        _write(path, [content])


def read_facts(folder: StrPath) -> dict[str, Any]:
    """Return the contents of train.json. Raises TrainerError if there is none, or one of another version."""
    path = Path(folder) / "train.json"
    try:
        facts = json.loads(_read(path))
    except ValueError as error:
        raise TrainerError(f"{folder} is no training folder: {error}") from error
    given = facts.get("format") if isinstance(facts, dict) else None
    if given != FORMAT:
        hint = "use the trainer.py of the gradc that wrote the folder"
        raise TrainerError(f"format of {path}: given {given}, expected {FORMAT}; {hint}")
    return facts


def _int64(number: int) -> Tensor:
    return Tensor("I64", np.array(number, np.int64))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _shape(shape: Sequence[Any]) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _join(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _widen(array: np.ndarray, code: str = "") -> np.ndarray:
    """Return an array of bfloat16 bits as float32, and others as they are."""
    is_bits = code == "BF16" or (not code and array.dtype == np.uint16)
    return (array.astype(np.uint32) << 16).view(np.float32) if is_bits else array


def _narrow(array: np.ndarray, code: str) -> np.ndarray:
    """Return an array in another type of floats, rounded to nearest even."""
    if code != "BF16":
        return array.astype(DTYPES[code])
    bits = array.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype(np.uint16)


def _bytes(array: np.ndarray) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def read_safetensors(path: StrPath) -> dict[str, Tensor]:
    """Return the tensors of a .safetensors file. Raises TrainerError for a file that is none."""
    found = dict[str, Tensor]()
    try:
        with open(path, "rb") as file:
            start = 8 + int.from_bytes(file.read(8), "little")
            header: dict[str, Any] = json.loads(file.read(start - 8))
            header.pop("__metadata__", None)
            for name, one in header.items():
                kind, (first, last) = DTYPES[one["dtype"]], one["data_offsets"]
                file.seek(start + first)
                array = np.fromfile(file, kind.newbyteorder("<"), (last - first) // kind.itemsize)
                found[name] = Tensor(one["dtype"], array.astype(kind, copy=False).reshape(one["shape"]))
    except OSError as error:
        raise TrainerError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise TrainerError(f"cannot read {path}: it is cut short, or not a .safetensors file") from error
    return found


def write_safetensors(path: StrPath, tensors: Mapping[str, Tensor]) -> None:
    """Write a .safetensors file."""
    order = sorted(tensors, key=lambda name: (-tensors[name].array.itemsize, name))
    header, end = dict[str, Any](), 0
    for name in order:
        one, start = tensors[name], end
        end += one.array.nbytes
        header[name] = {"dtype": one.code, "shape": list(one.array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    contents = (_bytes(tensors[name].array) for name in order)
    _write(path, [len(text).to_bytes(8, "little"), text, *contents])


def _read(path: StrPath) -> bytearray:
    try:
        return bytearray(Path(path).read_bytes())
    except OSError as error:
        raise TrainerError(f"cannot read {path}: {error.strerror or error}") from error


def _write(path: StrPath, contents: Iterable[bytes | bytearray]) -> None:
    """Write a file that appears under its name when it is complete."""
    draft = Path(f"{os.fspath(path)}.{os.getpid()}.tmp")
    try:
        with open(draft, "wb") as file:
            file.writelines(contents)
        os.replace(draft, path)
    except OSError as error:
        raise TrainerError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
