"""Losses of training steps.

    step = gradc.train_step("model.onnx", loss=gradc.losses.CrossEntropy(label_smoothing=0.1), ...)

A loss reads values of a model and label inputs, which it adds to the model, and gives one number. Half types
are computed in float32. Arguments have torch's names.
"""

from gradc.losses.base import Loss
from gradc.losses.classification import NLL, CrossEntropy
from gradc.losses.distillation import Distillation
from gradc.losses.embeddings import Cosine, Triplet
from gradc.losses.functions import Function, Output
from gradc.losses.loss_model import Model
from gradc.losses.regression import L1, MSE, BCEWithLogits, Huber, KLDiv, SmoothL1
from gradc.losses.text import as_loss, parse

__all__ = [
    "L1",
    "MSE",
    "NLL",
    "BCEWithLogits",
    "Cosine",
    "CrossEntropy",
    "Distillation",
    "Function",
    "Huber",
    "KLDiv",
    "Loss",
    "Model",
    "Output",
    "SmoothL1",
    "Triplet",
    "as_loss",
    "parse",
]
