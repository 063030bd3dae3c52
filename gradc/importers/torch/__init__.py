"""Capture of PyTorch functions that call autograd; torch is loaded when a function is captured."""
