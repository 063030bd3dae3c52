"""Where the rates of the cost model come from.

nodes         random small models of single ops, and of pairs that the runtime fuses
problems      random gradients, each in every form that a strategy gives it
measurements  seconds of a run by model, kept as data
fit           rates that explain the measurements
"""
