"""ONNX lowerings of oneDNN's ops by family; the pass is `passes/convert_onednn_to_grad.py`."""
