"""Minimal client of oneDNN's C Graph API: one op, compiled once, run on fixed buffers."""

from __future__ import annotations

import ctypes as c
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from gradc.bench.peers.base import NotAvailable
from gradc.util.extras import install

MAX_DIMS = 12
CPU, IN_ORDER, FUSION, STRIDED = 1, 1, 1, 2
DTYPES = {"f16": 1, "bf16": 2, "f32": 3, "s32": 4}
PROPERTIES = {"undef": 0, "variable": 1, "constant": 2}
STATUS = (
    "success",
    "out of memory",
    "invalid arguments",
    "unimplemented",
    "last implementation reached",
    "runtime error",
    "not required",
    "invalid graph",
    "invalid graph op",
    "invalid shape",
    "invalid data type",
)

# values of dnnl_graph_op_kind_t and dnnl_graph_op_attr_t in dnnl_graph_types.h
KINDS = {"ConvolutionBackwardData": 14, "ConvTransposeBackwardData": 17, "InterpolateBackward": 32}
ATTRIBUTES = {
    "groups": 0x32,
    "dilations": 0x41,
    "dst_shape": 0x42,
    "pads_begin": 0x46,
    "pads_end": 0x47,
    "sizes": 0x49,
    "strides": 0x4B,
    "coordinate_transformation_mode": 0x82,
    "data_format": 0x83,
    "mode": 0x84,
    "weights_format": 0x87,
}
ALIGNMENT = 64
CACHE_MEGABYTES = 2048


class OnednnError(Exception):
    """A failed call of oneDNN; the text has the call and the status."""


class LogicalTensor(c.Structure):
    """`dnnl_graph_logical_tensor_t`."""

    _fields_ = [
        ("id", c.c_size_t),
        ("ndims", c.c_int),
        ("dims", c.c_int64 * MAX_DIMS),
        ("data_type", c.c_int),
        ("property", c.c_int),
        ("layout_type", c.c_int),
        ("strides", c.c_int64 * MAX_DIMS),
    ]


class _Version(c.Structure):
    _fields_ = [("major", c.c_int), ("minor", c.c_int), ("patch", c.c_int)]


class Library:
    """The library with an engine and a stream on the CPU, restricted to a number of threads.

    Its threads are TBB's, whose number is that of the cores the process may use at start.
    """

    def __init__(self, threads: int):
        path = _library_path()
        os.environ.setdefault("ONEAPI_DEVICE_SELECTOR", "opencl:cpu")
        os.environ.setdefault("OCL_ICD_FILENAMES", str(path.parent / "libintelocl.so"))
        os.environ.setdefault("ONEDNN_VERBOSE", "none")
        cores = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, set(sorted(cores)[:threads]))
            _load(path.parent / "libOpenCL.so.1")  # loaded by name when the engine is created
            self._library = _load(path)
            self.engine, self.stream = c.c_void_p(), c.c_void_p()
            self.call("dnnl_engine_create", c.byref(self.engine), CPU, c.c_size_t(0))
            self.call("dnnl_stream_create", c.byref(self.stream), self.engine, IN_ORDER)
            # off by default; constant weights would then be reordered in every run
            self.call("dnnl_graph_set_constant_tensor_cache_capacity", CPU, c.c_size_t(CACHE_MEGABYTES))
        except (OSError, OnednnError) as error:
            raise NotAvailable(str(error)) from None
        finally:
            os.sched_setaffinity(0, cores)

    @property
    def version(self) -> str:
        self._library.dnnl_version.restype = c.POINTER(_Version)
        found = self._library.dnnl_version().contents
        return f"{found.major}.{found.minor}.{found.patch}"

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            word = STATUS[status] if status < len(STATUS) else status
            raise OnednnError(f"{name}: {word}")

    def function(self, name: str) -> Any:
        return getattr(self._library, name)


def _library_path() -> Path:
    try:
        files = distribution("onednn").files or ()
    except PackageNotFoundError:
        raise NotAvailable(f"the package onednn is not installed; {install('peers')}") from None
    for file in files:
        if file.name == "libdnnl.so.3":
            return Path(str(file.locate())).resolve()
    raise NotAvailable("the package onednn has no libdnnl.so.3 (Linux only)")


def _load(path: Path) -> c.CDLL:
    """Load a library; its dependencies are in its folder, where the loader does not look."""
    tried: set[str] = set()
    while True:
        try:
            return c.CDLL(str(path))
        except OSError as error:
            missing = re.match(r"(lib\S+): cannot open shared object file", str(error))
            if missing is None or missing[1] in tried:
                raise
            tried.add(missing[1])
            _load(path.parent / missing[1])


class Graph:
    """A compiled document of one op; `run` executes it on its buffers.

    `inputs` are arrays by tensor id. Raises OnednnError if the library has no kernel.
    """

    def __init__(self, library: Library, document: Mapping[str, Any], inputs: Mapping[int, np.ndarray]):
        self._library = library
        (op,) = document["graph"]
        self._inputs = [_logical_tensor(t) for t in op["inputs"]]
        self._outputs = [_logical_tensor(t) for t in op["outputs"]]
        partition = self._partition(op)
        self._compiled = c.c_void_p()
        library.call("dnnl_graph_compiled_partition_create", c.byref(self._compiled), partition)
        library.call(
            "dnnl_graph_partition_compile",
            partition,
            self._compiled,
            c.c_size_t(len(self._inputs)),
            _pointers(self._inputs),
            c.c_size_t(len(self._outputs)),
            _pointers(self._outputs),
            library.engine,
        )
        self._arrays = [_align(inputs[t.id]) for t in self._inputs]
        (result,) = op["outputs"]
        like = self._arrays[0].dtype
        self.result = _align(np.zeros(result["shape"], like))
        self._given = self._tensors(self._inputs, self._arrays)
        self._made = self._tensors(self._outputs, [self.result])
        # frees cached constant weights; the other handles are small and leak
        destroy = library.function("dnnl_graph_compiled_partition_destroy")
        weakref.finalize(self, destroy, self._compiled)

    def run(self) -> None:
        library = self._library
        library.call(
            "dnnl_graph_compiled_partition_execute",
            self._compiled,
            library.stream,
            c.c_size_t(len(self._given)),
            self._given,
            c.c_size_t(1),
            self._made,
        )
        library.call("dnnl_stream_wait", library.stream)

    def _partition(self, op: Mapping[str, Any]) -> c.c_void_p:
        """Return the single partition of a graph with the op."""
        library = self._library
        graph, handle, partition = c.c_void_p(), c.c_void_p(), c.c_void_p()
        library.call("dnnl_graph_graph_create", c.byref(graph), CPU)
        kind = KINDS[op["kind"]]
        library.call("dnnl_graph_op_create", c.byref(handle), c.c_size_t(op["id"]), kind, b"problem")
        for name, entry in op["attrs"].items():
            self._set_attribute(handle, ATTRIBUTES[name], entry["value"])
        for tensor in self._inputs:
            library.call("dnnl_graph_op_add_input", handle, c.byref(tensor))
        for tensor in self._outputs:
            library.call("dnnl_graph_op_add_output", handle, c.byref(tensor))
        library.call("dnnl_graph_add_op", graph, handle)
        library.call("dnnl_graph_graph_finalize", graph)
        library.call("dnnl_graph_graph_filter", graph, FUSION)
        library.call("dnnl_graph_graph_get_partitions", graph, c.c_size_t(1), c.byref(partition))
        supported = c.c_uint8()
        library.call("dnnl_graph_partition_is_supported", partition, c.byref(supported))
        if not supported.value:
            raise OnednnError("no backend supports the op")
        return partition

    def _set_attribute(self, op: c.c_void_p, attribute: int, value: Any) -> None:
        if isinstance(value, str):
            word = value.encode()
            self._library.call("dnnl_graph_op_set_attr_str", op, attribute, word, c.c_size_t(len(word)))
            return
        values = value if isinstance(value, list) else [value]
        array = (c.c_int64 * len(values))(*values)
        self._library.call("dnnl_graph_op_set_attr_s64", op, attribute, array, c.c_size_t(len(values)))

    def _tensors(self, tensors: Sequence[LogicalTensor], arrays: Sequence[np.ndarray]) -> Any:
        handles = (c.c_void_p * len(tensors))()
        for index, (tensor, array) in enumerate(zip(tensors, arrays, strict=True)):
            handle = c.c_void_p()
            data = c.c_void_p(array.ctypes.data)
            engine = self._library.engine
            self._library.call("dnnl_graph_tensor_create", c.byref(handle), c.byref(tensor), engine, data)
            handles[index] = handle.value
        return handles


def _logical_tensor(record: Mapping[str, Any]) -> LogicalTensor:
    """Return the logical tensor of a document's tensor record with known sizes."""
    shape, strides = record["shape"], record["stride"]
    return LogicalTensor(
        record["id"],
        len(shape),
        (c.c_int64 * MAX_DIMS)(*shape),
        DTYPES[record["dtype"]],
        PROPERTIES[record["property_type"]],
        STRIDED,
        (c.c_int64 * MAX_DIMS)(*strides),
    )


def _pointers(tensors: Sequence[LogicalTensor]) -> Any:
    return (c.c_void_p * len(tensors))(*[c.addressof(tensor) for tensor in tensors])


def _align(array: np.ndarray) -> np.ndarray:
    """Return a copy whose data begins at a cache line."""
    raw = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
