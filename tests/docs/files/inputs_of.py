"""Random inputs for a graph of known sizes: `python inputs_of.py GRAPH FILE.npz`."""

import sys

import numpy as np

import gradc

graph, file = sys.argv[1:]
rng = np.random.default_rng(0)
inputs = gradc.compile(graph).inputs
np.savez(file, **{i.name: rng.standard_normal(i.shape).astype("f") for i in inputs})
