"""The derivatives of ONNX's ops, a rule each; oneDNN's backward kinds and a reverse walk share them."""
