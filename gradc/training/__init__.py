"""Training steps on stock onnxruntime: the folder of a run, and the loop over it."""
