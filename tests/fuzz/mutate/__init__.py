"""Changes to inputs: of bytes, of JSON trees, of MLIR tokens, of .npz archives. All draw from a Random."""
