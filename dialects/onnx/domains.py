"""Domains of ops besides ONNX's standard one."""

from __future__ import annotations

MICROSOFT = "com.microsoft"
"""onnxruntime's contributed ops."""

NCHWC = "com.microsoft.nchwc"
"""Ops in blocked layouts, which onnxruntime's optimizer writes for one machine."""

BLOCK = "gradc.block"
"""Attribute of ops in blocked layouts: channels per block; None if unknown."""

GRADIENT = "ai.onnx.preview.training.Gradient"
"""The op of ONNX's preview training domain that requests derivatives within a model."""
