"""Measured choices of strategies: what `--tune` finds out on this machine, keeps, and reads back.

tuner      which ops of a graph need a measurement, and which strategy each gets
measuring  the candidates of one problem on onnxruntime
race       timing several runs in turn
records    what is kept of a measurement
stores     where it is kept: a folder of small files, or one file that can be shipped
"""
