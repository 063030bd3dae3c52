"""Ops on quantized codes as float ops, for straight-through gradients."""
