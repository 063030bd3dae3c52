"""Optimizers of training steps, with the parameter names of torch.optim.

    gradc.optim.AdamW(weight_decay=0.1)

The learning rate is an input of the step, or a schedule. States go in and come out.
"""

from gradc.optim.adam import Adam, AdamW
from gradc.optim.base import Optimizer, Slot
from gradc.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "Slot"]
