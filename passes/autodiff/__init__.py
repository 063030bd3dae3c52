"""VJP rules of ONNX ops, shared by the reverse walk and the lowering of oneDNN's backward primitives."""
