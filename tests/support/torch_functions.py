"""Functions of torch, with points at which their derivatives are special: bounds, ties, zeros and saturation.

docs/exporters.md has the functions of which an exporter's file computes something else than torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
F, D = torch.nn.functional, torch.distributions

_MAGNITUDES = (1e-8, 1e-4, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 18.0, 20.0, 50.0, 88.0, 100.0, 1e4)
REALS = (*(-x for x in reversed(_MAGNITUDES)), 0.0, *_MAGNITUDES)
SMALL = tuple(x for x in REALS if abs(x) <= 20)
POSITIVE = _MAGNITUDES
UNIT = (0.0, 1e-8, 1e-4, 0.25, 0.5, 0.75, 1 - 2**-20, 1.0)
SINES = (-1.0, -1 + 2**-20, -0.5, -1e-4, 0.0, 1e-4, 0.25, 0.5, 1 - 2**-20, 1.0)
ROWS = (
    *((0, 0, 0, 0), (1, 1, 1, 1), (-1, 2, 2, 0), (20, -20, 0, 20), (100, -100, 0, 1), (1e4, -1e4, 0, 1e4)),
    *((1e4, 1e4, 1e4, 1e4), (0, 0, 1, 0), (1e-8, 0, 0, 0), (0.5, 0.25, 0.125, 0.125), (3, 4, 0, 0)),
)
SHARES = ((0.25, 0.25, 0.25, 0.25), (1, 0, 0, 0), (0.5, 0.5, 0, 0), (0.5, 0.25, 0.125, 0.125))


@dataclass(frozen=True)
class Case:
    function: Callable[[Any], Any]
    points: Sequence[Any]
    exporters: tuple[str, ...] = ("script", "dynamo")


def of(points: Sequence[Any], *exporters: str, **functions: Any) -> dict[str, Case]:
    given = exporters or ("script", "dynamo")
    return {name: Case(function, points, given) for name, function in functions.items()}


def ones(x: Any) -> Any:
    return torch.ones_like(x)


def zeros(x: Any) -> Any:
    return torch.zeros_like(x)


def row(x: Any, *values: float) -> Any:
    """A row of numbers, once for each row of x."""
    return torch.tensor([values], dtype=x.dtype).expand(x.shape[0], len(values))


def weighted(y: Any) -> Any:
    return y * torch.tensor([[1.0, -2.0, 0.5, 3.0]], dtype=y.dtype)


def labels(x: Any) -> Any:
    return torch.arange(x.shape[0]) % 4


def shared(x: Any) -> Any:
    return row(x, 0.1, 0.2, 0.3, 0.4)


def made(kind: Any, *parameters: Any, **named: Any) -> Any:
    return kind(*parameters, **named, validate_args=False)


def normal(x: Any) -> Any:
    return made(D.Normal, zeros(x), ones(x))


def log_softmax(x: Any) -> Any:
    return F.log_softmax(x, -1)


def sum_of_squares(x: Any) -> Any:
    return (x * x).sum(-1)


CASES: dict[str, Case] = {
    **of(
        REALS,
        logsigmoid=F.logsigmoid,
        log_sigmoid=lambda x: torch.log(torch.sigmoid(x)),
        log_complement=lambda x: torch.log(1 - torch.sigmoid(x)),
        log1p_sigmoid=lambda x: torch.log1p(-torch.sigmoid(x)),
        log_written_sigmoid=lambda x: torch.log(1 / (1 + torch.exp(-x))),
        softplus_written=lambda x: torch.log(1 + torch.exp(x)),
        softplus_log1p=lambda x: torch.log1p(torch.exp(x)),
        softplus_magnitude=lambda x: torch.relu(x) + torch.log(1 + torch.exp(-x.abs())),
        softplus=F.softplus,
        softplus_beta=lambda x: F.softplus(x, beta=2.0),
        sigmoid=torch.sigmoid,
        sigmoid_written=lambda x: 1 / (1 + torch.exp(-x)),
        sigmoid_of_exponentials=lambda x: torch.exp(x) / (1 + torch.exp(x)),
        sigmoid_reciprocal=lambda x: torch.reciprocal(1 + torch.exp(-x)),
        tanh=torch.tanh,
        tanh_written=lambda x: (torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x)),
        silu=F.silu,
        silu_written=lambda x: x / (1 + torch.exp(-x)),
        mish=F.mish,
        gelu=F.gelu,
        gelu_tanh=lambda x: F.gelu(x, approximate="tanh"),
        elu=F.elu,
        elu_written=lambda x: torch.where(x > 0, x, torch.exp(x) - 1),
        selu=F.selu,
        celu=F.celu,
        hardswish=F.hardswish,
        hardsigmoid=F.hardsigmoid,
        softsign=F.softsign,
        tanhshrink=F.tanhshrink,
        softshrink=F.softshrink,
        hardshrink=F.hardshrink,
        leaky_relu=F.leaky_relu,
        abs=torch.abs,
        atan=torch.atan,
        erf=torch.erf,
        atan2_above=lambda x: torch.atan2(x, ones(x)),
        atan2_below=lambda x: torch.atan2(ones(x), x),
        atan2_left=lambda x: torch.atan2(-ones(x), x),
        bce_with_logits=lambda x: F.binary_cross_entropy_with_logits(x, ones(x) * 0.25, reduction="none"),
        bce_of_one=lambda x: F.binary_cross_entropy_with_logits(x, ones(x), reduction="none"),
        bce_of_zero=lambda x: F.binary_cross_entropy_with_logits(x, zeros(x), reduction="none"),
        focal=lambda x: (1 - torch.sigmoid(x)) ** 2 * torch.log(torch.sigmoid(x)),
        mse=lambda x: F.mse_loss(x, ones(x), reduction="none"),
        root_of_square=lambda x: torch.sqrt(x * x + 1e-6),
        log_of_magnitude=lambda x: torch.log(x.abs() + 1e-6),
        log_of_square=lambda x: torch.log1p(x * x),
        masked_log=lambda x: torch.where(x > 0, torch.log(x), zeros(x)),
        masked_root=lambda x: torch.where(x > 0, torch.sqrt(x), zeros(x)),
        masked_exponential=lambda x: torch.where(x > 0, ones(x), torch.exp(x)),
        clamp=lambda x: x.clamp(-1.5, 1.5),
        root_of_relu=lambda x: torch.sqrt(F.relu(x)),
        log_of_clamp=lambda x: torch.log(x.clamp(min=1e-6)),
        squares=lambda x: x**2,
        no_power=lambda x: x**0,
        power_of_magnitude=lambda x: x.abs() ** 1.5,
        normal=lambda x: normal(x).log_prob(x),
        normal_cdf=lambda x: normal(x).cdf(x),
        laplace=lambda x: made(D.Laplace, zeros(x), ones(x)).log_prob(x),
        cauchy=lambda x: made(D.Cauchy, zeros(x), ones(x)).log_prob(x),
        bernoulli=lambda x: made(D.Bernoulli, logits=x).log_prob(ones(x)),
        bernoulli_entropy=lambda x: made(D.Bernoulli, logits=x).entropy(),
        log_cosh=lambda x: x + F.softplus(-2 * x) - math.log(2.0),
        squashed=lambda x: torch.log(1 - torch.tanh(x) ** 2),
        entropy_of_two=lambda x: -(
            torch.sigmoid(x) * torch.log(torch.sigmoid(x))
            + (1 - torch.sigmoid(x)) * torch.log(1 - torch.sigmoid(x))
        ),
        remainder=lambda x: torch.remainder(x, 3.5),
    ),
    **of(
        REALS,
        "dynamo",
        sinc=torch.sinc,
        logaddexp=lambda x: torch.logaddexp(x, zeros(x)),
        logaddexp2=lambda x: torch.logaddexp2(x, zeros(x)),
        asinh=torch.asinh,
        smooth_l1=lambda x: F.smooth_l1_loss(x, zeros(x), reduction="none"),
        huber=lambda x: F.huber_loss(x, zeros(x), reduction="none", delta=2.0),
        soft_margin=lambda x: F.soft_margin_loss(x, ones(x), reduction="none"),
        poisson=lambda x: F.poisson_nll_loss(x.clamp(max=20.5), ones(x), reduction="none"),
        cosh=lambda x: torch.log(torch.cosh(x)),
    ),
    **of(REALS, "script", geometric=lambda x: made(D.Geometric, logits=x).log_prob(ones(x) * 2)),
    **of(
        SMALL,
        exp=torch.exp,
        tan=torch.tan,
        log_exp=lambda x: torch.log(torch.exp(x)),
    ),
    **of(
        [x for x in REALS if abs(x) != 1],  # autograd's derivative at a bound is 1 before torch 2.14, then 0
        acos_of_clamp=lambda x: torch.acos(x.clamp(-1, 1)),
    ),
    **of(
        (0.0, *(x for x in REALS if abs(x) >= 0.25)),
        masked_quotient=lambda x: torch.where(x == 0, ones(x), torch.tanh(x) / x),
    ),
    **of(
        POSITIVE,
        log=torch.log,
        sqrt=torch.sqrt,
        rsqrt=torch.rsqrt,
        log1p=torch.log1p,
        xlogx=lambda x: x * torch.log(x),
        log_one_minus_exp=lambda x: torch.log(1 - torch.exp(-x)),
        log1p_exp=lambda x: torch.log1p(-torch.exp(-x)),
        inverse_softplus=lambda x: torch.log(torch.exp(x) - 1),
        exponential=lambda x: made(D.Exponential, x).log_prob(ones(x)),
        normal_scale=lambda x: made(D.Normal, zeros(x), x).log_prob(ones(x)),
        normal_kl=lambda x: D.kl_divergence(made(D.Normal, zeros(x), x), normal(x)),
        lognormal=lambda x: made(D.LogNormal, zeros(x), ones(x)).log_prob(x),
        pareto=lambda x: made(D.Pareto, ones(x), x).log_prob(ones(x) * 2),
    ),
    **of(POSITIVE, "dynamo", log_expm1=lambda x: torch.log(-torch.expm1(-x))),
    **of(
        (0.0, *POSITIVE),
        masked_entropy=lambda x: torch.where(x > 0, x * torch.log(x), zeros(x)),
        entropy_plus=lambda x: x * torch.log(x + 1e-6),
        power=lambda x: x**1.5,
        kl_of_target=lambda x: F.kl_div(torch.log(x + 1), x, reduction="none"),
    ),
    **of((0.0, *POSITIVE), "dynamo", entr=torch.special.entr, xlogy=lambda x: torch.xlogy(zeros(x), x)),
    **of(UNIT[1:-1], "dynamo", bce=lambda x: F.binary_cross_entropy(x, ones(x) * 0.5, reduction="none")),
    **of(UNIT[2:-2], logit=torch.logit, logit_eps=lambda x: torch.logit(x, eps=1e-5)),
    **of(SINES, asin=torch.asin, acos=torch.acos, circle=lambda x: torch.sqrt(1 - x * x)),
    **of(SINES[1:-1], atanh_written=lambda x: 0.5 * torch.log((1 + x) / (1 - x))),
    **of(
        ROWS,
        softmax=lambda x: weighted(F.softmax(x, -1)),
        log_softmax=lambda x: weighted(log_softmax(x)),
        log_of_softmax=lambda x: weighted(torch.log(F.softmax(x, -1))),
        softmax_written=lambda x: weighted(torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)),
        log_softmax_written=lambda x: weighted(x - torch.log(torch.exp(x).sum(-1, keepdim=True))),
        log_softmax_by_logsumexp=lambda x: weighted(x - torch.logsumexp(x, -1, keepdim=True)),
        logsumexp_written=lambda x: torch.log(torch.exp(x).sum(-1)),
        cross_entropy=lambda x: F.cross_entropy(x, labels(x), reduction="none"),
        nll_of_softmax=lambda x: F.nll_loss(torch.log(F.softmax(x, -1)), labels(x), reduction="none"),
        chosen_share=lambda x: torch.log(F.softmax(x, -1).gather(1, labels(x)[:, None])),
        kl=lambda x: F.kl_div(log_softmax(x), shared(x), reduction="none"),
        kl_of_shares=lambda x: (F.softmax(x, -1) * (log_softmax(x) - torch.log(shared(x)))).sum(-1),
        entropy=lambda x: -(F.softmax(x, -1) * log_softmax(x)).sum(-1),
        categorical=lambda x: made(D.Categorical, logits=x).log_prob(labels(x)),
        categorical_entropy=lambda x: made(D.Categorical, logits=x).entropy(),
        norm=lambda x: x.norm(dim=-1),
        norm_of_ones=lambda x: x.norm(p=1, dim=-1),
        norm_of_cubes=lambda x: x.norm(p=3, dim=-1),
        normalize=lambda x: weighted(F.normalize(x, dim=-1)),
        norm_and_a_bit=lambda x: torch.sqrt(sum_of_squares(x) + 1e-6),
        std_scaled=lambda x: weighted((x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-3)),
        layer_norm=lambda x: weighted(F.layer_norm(x, (4,))),
        amax=lambda x: x.amax(-1),
        amin=lambda x: x.amin(-1),
        product=lambda x: x.clamp(-2, 2).prod(-1),
        masked_softmax=lambda x: weighted(F.softmax(x.masked_fill(x[:1] < -1, float("-inf")), -1)),
        atan2=lambda x: torch.atan2(x[:, 0], x[:, 1]),
        atan2_of_norm=lambda x: torch.atan2(torch.linalg.vector_norm(x[:, 1:], dim=-1), x[:, 0]),
        safe_quotient=lambda x: torch.where(x[:, 1] == 0, x[:, 0] * 0, x[:, 0] / x[:, 1]),
        masked_power=lambda x: torch.where(
            x[:, 0] == 0, x[:, 1], (x[:, 1].abs() + 1) ** x[:, 0].clamp(-2, 2) / x[:, 0]
        ),
        student=lambda x: -2.5 * torch.log1p(sum_of_squares(x) / 4),
        mixture=lambda x: torch.logsumexp(normal(x).log_prob(x - row(x, 0, 1, 2, 3)), -1),
    ),
    **of(
        ROWS,
        "script",
        multilabel=lambda x: F.multilabel_soft_margin_loss(x, (x > 0) * ones(x)),
        distances=lambda x: torch.cdist(x, x * 0 + 1),
    ),
    **of(
        ROWS,
        "dynamo",
        multi_margin=lambda x: F.multi_margin_loss(x, labels(x), reduction="none"),
    ),
    **of(
        SHARES,
        share_entropy=lambda p: -(p * torch.log(p + 1e-6)).sum(-1),
        share_kl=lambda p: F.kl_div(torch.log(shared(p)), p, reduction="none"),
    ),
}  # fmt: skip
