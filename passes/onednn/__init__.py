"""What oneDNN's ops are in ONNX, family by family; the pass is `passes/convert_onednn_to_grad.py`."""
