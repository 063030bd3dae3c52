"""Optimizers, schedules and groups as text, and errors of their options."""

from __future__ import annotations

from typing import Any

import pytest

import gradc
from dialects.support.diagnostics import UsageError
from gradc.optim import (
    SGD,
    AdamW,
    Constant,
    Cosine,
    Group,
    Lion,
    RMSprop,
    StepDecay,
    parse,
    parse_group,
    parse_schedule,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("adamw", AdamW()),
        ("AdamW:weight_decay=0.1,betas=0.9/0.95", AdamW(weight_decay=0.1, betas=(0.9, 0.95))),
        ("sgd:momentum=0.9,nesterov", SGD(momentum=0.9, nesterov=True)),
        ("rmsprop:centered=true,maximize=False", RMSprop(centered=True)),
        ("lion:", Lion()),
    ],
)
def test_optimizers(text: str, expected: Any):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input", None),
        ("3e-4", Constant(3e-4)),
        ("cosine:base=3e-4,warmup=100,total=5000", Cosine(3e-4, 100, 5000)),
        ("step:base=0.1,every=30,gamma=0.5", StepDecay(0.1, every=30, gamma=0.5)),
    ],
)
def test_schedules(text: str, expected: Any):
    assert parse_schedule(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*.bias:lr=0.1,weight_decay=0", Group("*.bias", lr=0.1, weight_decay=0)),
        ("a:0,b*:lr_scale=2", Group(["a:0", "b*"], lr_scale=2)),
    ],
)
def test_groups(text: str, expected: Group):
    assert parse_group(text) == expected


@pytest.mark.parametrize(
    ("function", "text", "message"),
    [
        (parse, "adamx", "optimizer: given adamx, expected sgd, adam, .*; did you mean adam or adamw"),
        (parse, "adamw:decay=1", "optimizer adamw: decay: expected betas, eps, .*"),
        (parse, "adamw:betas=0.9", "AdamW: betas: given 0.9, expected two numbers"),
        (parse, "adamw:betas=0.9/1", "AdamW: betas: given 1.0, expected a number of at least 0 and below 1"),
        (parse, "adamw:eps=-1", "AdamW: eps: given -1.0, expected a number of at least 0"),
        (parse, "adamw:eps=nan", "AdamW: eps: given nan, expected a number of at least 0"),
        (parse, "adamw:eps=small", "optimizer adamw: eps: given small, expected a number"),
        (parse, "adamw:eps=1,eps=2", "optimizer adamw: eps is given twice"),
        (parse, "adamw:amsgrad=1", "AdamW: amsgrad: given 1.0, expected True or False"),
        (parse, "sgd:nesterov", "SGD: nesterov: given momentum=0, dampening=0, expected a momentum above 0"),
        (parse_schedule, "cosine:base=1,total=1.5", "Cosine: total: given 1.5, expected an integer"),
        (parse_schedule, "cosine:total=9", "schedule cosine: base: given none, expected a value"),
        (parse_schedule, "nan", "Constant: base: given nan, expected a number of at least 0"),
        (parse_group, "*.bias", "group: given .*, expected PATTERN:OPTION=VALUE"),
        (parse_group, "a,,b:lr=1", "an empty pattern"),
        (parse_group, "a:lr=1,lr_scale=2", "Group a: lr and lr_scale; lr is a fixed number"),
        (parse_group, "a:lr=-1", "Group a: lr: given -1.0, expected a number of at least 0"),
    ],
)
def test_errors(function: Any, text: str, message: str):
    with pytest.raises(UsageError, match=message):
        function(text)


def test_the_option_of_a_group_is_one_of_the_optimizer():
    with pytest.raises(UsageError, match=r"Group \*: weight_decy: .*SGD; did you mean weight_decay"):
        Group("*", weight_decy=0).optimizer(SGD())


def test_reachable_from_gradc():
    assert gradc.optim.SGD is SGD
