"""Measured strategy choices: `--tune` measures on this machine, stores the results, and reads them back.

tuner      selects the ops to measure, and the strategy of each
measuring  runs the candidates of one problem on onnxruntime
race       times several runs alternately
records    format of a measurement
stores     storage: a folder of small files, or one file that can be shipped
"""
