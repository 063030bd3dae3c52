"""BatchNorm with `momentum=None`: running statistics that are means over all batches so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradc.importers.torch.torch_internals import torch


@contextmanager
def cumulative_statistics() -> Iterator[None]:
    """Let such modules divide by their counter as a tensor, whose value torch would read."""
    kind = torch.nn.modules.batchnorm._BatchNorm
    before = kind.forward

    def forward(module: Any, given: Any) -> Any:
        return _forward(module, given, before)

    kind.forward = forward
    try:
        yield
    finally:
        kind.forward = before


def _forward(module: Any, given: Any, forward: Callable[[Any, Any], Any]) -> Any:
    counter: Any = module.num_batches_tracked
    is_tracking = module.training and module.track_running_stats
    if counter is None or module.momentum is not None or not is_tracking:
        return forward(module, given)
    module._check_input_dim(given)
    counter.add_(1)
    share = 1.0 / counter.to(module.running_mean.dtype)
    with torch.no_grad():
        axes = [0, *range(2, given.dim())]
        variance, mean = torch.var_mean(given.to(share.dtype), axes)
        for running, new in ((module.running_mean, mean), (module.running_var, variance)):
            running.copy_(running * (1.0 - share) + new * share)
    return torch.nn.functional.batch_norm(
        given, None, None, module.weight, module.bias, True, 0.0, module.eps
    )
