"""Calibration of the cost model's rates.

nodes         random small models of single ops, and of pairs that the runtime fuses
problems      random gradients, lowered with every strategy
measurements  seconds of a run by model, stored as data
fit           rates fitted to the measurements
"""
