"""Optimizers of training steps, with the parameter names of torch.optim.

    gradc.optim.AdamW(weight_decay=0.1)

The learning rate is an input of the step, or a schedule. States go in and come out.
"""

from gradc.optim.adam import Adam, AdamW
from gradc.optim.adaptive import Adagrad, RMSprop
from gradc.optim.base import Optimizer, Slot
from gradc.optim.function import Function
from gradc.optim.groups import Group, no_decay
from gradc.optim.lion import Lion
from gradc.optim.parsing import parse, parse_group, parse_schedule
from gradc.optim.schedules import Constant, Cosine, Linear, Schedule, StepDecay
from gradc.optim.sgd import SGD

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Constant",
    "Cosine",
    "Function",
    "Group",
    "Linear",
    "Lion",
    "Optimizer",
    "RMSprop",
    "Schedule",
    "Slot",
    "StepDecay",
    "no_decay",
    "parse",
    "parse_group",
    "parse_schedule",
]
