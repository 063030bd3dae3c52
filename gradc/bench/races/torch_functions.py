"""Small PyTorch functions that take derivatives, of each kind that people export.

`torch` is a parameter, so that it is imported on demand only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Made = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function or module, and its arguments."""


@dataclass(frozen=True)
class Differentiating:
    """`make` creates a function that takes derivatives, and its arguments, from the module `torch`."""

    make: Callable[[Any], Made]
    what: str


ATOMS, EDGES = 12, 40


def points(torch: Any, *shape: int) -> Any:
    """Return random numbers by which autograd differentiates."""
    return torch.randn(*shape).requires_grad_()


def graph(torch: Any, atoms: int = ATOMS, edges: int = EDGES) -> Any:
    """Return pairs of different atoms, [2, edges]."""
    first = torch.randint(atoms, (edges,))
    return torch.stack([first, (first + torch.randint(1, atoms, (edges,))) % atoms])


def as_module(torch: Any, made: Made, *parts: Any) -> Made:
    """Return a function as a module that has these modules, which the function closes over."""
    function, arguments = made

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(parts).eval()

        def forward(self, *given: Any) -> Any:
            return function(*given)

    return Model(), arguments


def mlp(torch: Any, *widths: int, act: str = "Tanh") -> Any:
    """Return linear layers with an activation between."""
    nn = torch.nn
    layers: list[Any] = []
    for i, o in pairwise(widths):
        layers += [nn.Linear(i, o), getattr(nn, act)()]
    return nn.Sequential(*layers[:-1])


def image_network(torch: Any, act: str = "ReLU") -> Any:
    """Return a small classifier of images, [N, 3, 24, 24]."""
    nn, a = torch.nn, getattr(torch.nn, act)
    body = (nn.Conv2d(3, 8, 3, padding=1), a(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), a())
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)).eval()


def image(torch: Any, count: int = 1) -> Any:
    return torch.rand(count, 3, 24, 24).requires_grad_()


def _pair_forces(torch: Any, energy: Callable[[Any], Any], *parts: Any) -> Made:
    def function(positions: Any, pairs: Any) -> Any:
        distance = (positions[pairs[0]] - positions[pairs[1]]).norm(dim=-1, keepdim=True)
        total = energy(distance).sum()
        return total, -torch.autograd.grad(total, positions)[0]

    return as_module(torch, (function, (points(torch, ATOMS, 3), graph(torch))), *parts)


def _lennard_jones(torch: Any) -> Made:
    return _pair_forces(torch, lambda distance: (distance + 0.8) ** -12 - (distance + 0.8) ** -6)


def _morse(torch: Any) -> Made:
    return _pair_forces(torch, lambda distance: (1 - torch.exp(1 - distance)) ** 2)


def _pair_network(torch: Any) -> Made:
    network = mlp(torch, 1, 16, 1, act="SiLU")
    return _pair_forces(torch, network, network)


def _message_passing(torch: Any) -> Made:
    embed, message = torch.nn.Linear(1, 16), mlp(torch, 16, 16, act="Softplus")
    read = mlp(torch, 16, 16, 1, act="SiLU")

    def function(positions: Any, pairs: Any) -> Any:
        distance = (positions[pairs[0]] - positions[pairs[1]]).norm(dim=-1, keepdim=True)
        sent = message(torch.exp(-(embed(distance) ** 2)))
        atoms = torch.zeros(ATOMS, 16).to(sent.dtype).index_add(0, pairs[0], sent)
        energy = read(atoms).sum()
        return energy, -torch.autograd.grad(energy, positions)[0]

    return as_module(torch, (function, (points(torch, ATOMS, 3), graph(torch))), embed, message, read)


def _pendulum(torch: Any) -> Made:
    def function(q: Any, p: Any) -> Any:
        energy = (p * p / 2 + 1 - torch.cos(q)).sum()
        by_q, by_p = torch.autograd.grad(energy, (q, p))
        return by_p, -by_q

    return as_module(torch, (function, (points(torch, 16), points(torch, 16))))


def _hamiltonian(torch: Any) -> Made:
    network = mlp(torch, 4, 32, 32, 1)

    def function(state: Any) -> Any:
        by_q, by_p = torch.autograd.grad(network(state).sum(), state)[0].chunk(2, -1)
        return torch.cat([by_p, -by_q], -1)

    return as_module(torch, (function, (points(torch, 16, 4),)), network)


def _lagrangian(torch: Any) -> Made:
    network = mlp(torch, 4, 16, 1)

    def function(q: Any, v: Any) -> Any:
        def momentum(q: Any, v: Any) -> Any:
            return torch.func.grad(lambda w: network(torch.cat([q, w])).sum())(v)

        mass = torch.func.jacrev(momentum, 1)(q, v)
        force = torch.func.grad(lambda w: network(torch.cat([w, v])).sum())(q)
        return mass, force - torch.func.jvp(lambda w: momentum(w, v), (q,), (v,))[1]

    return as_module(torch, (function, (torch.randn(2), torch.randn(2))), network)


def _saliency(torch: Any) -> Made:
    network = image_network(torch)

    def function(image: Any) -> Any:
        score = network(image).max(1)[0].sum()
        return torch.autograd.grad(score, image)[0].abs().amax(1)

    return as_module(torch, (function, (image(torch),)), network)


def _grad_cam(torch: Any) -> Made:
    network = image_network(torch)

    def function(image: Any) -> Any:
        features = network[:5](image)
        scores = network[5:](features)
        (slope,) = torch.autograd.grad(scores[:, 2].sum(), features)
        return (slope.mean((2, 3), keepdim=True) * features).sum(1).relu()

    return as_module(torch, (function, (image(torch),)), network)


def _smooth_grad(torch: Any) -> Made:
    network = image_network(torch, "SiLU")

    def function(image: Any, noise: Any) -> Any:
        noisy = image + noise
        return torch.autograd.grad(network(noisy)[:, 1].sum(), image)[0]

    return as_module(torch, (function, (image(torch), 0.1 * torch.randn(4, 3, 24, 24))), network)


def _integrated_gradients(torch: Any) -> Made:
    network = image_network(torch, "GELU")

    def function(image: Any, steps: Any) -> Any:
        path = steps[:, None, None, None] * image
        (slopes,) = torch.autograd.grad(network(path)[:, 0].sum(), path)
        return slopes.mean(0, keepdim=True) * image

    return as_module(torch, (function, (image(torch), torch.linspace(0.1, 1, 8))), network)


def _attack(torch: Any) -> Made:
    network = image_network(torch)

    def function(image: Any, label: Any) -> Any:
        loss = torch.nn.functional.cross_entropy(network(image), label)
        return (image + 0.03 * torch.autograd.grad(loss, image)[0].sign()).clamp(0, 1)

    return as_module(torch, (function, (image(torch), torch.tensor([3]))), network)


def _guidance(torch: Any) -> Made:
    denoise, score = mlp(torch, 16, 32, 16, act="SiLU"), mlp(torch, 16, 32, 1)

    def function(x: Any, sigma: Any) -> Any:
        clean = x - sigma * denoise(x)
        (slope,) = torch.autograd.grad(score(clean).sum(), x)
        return clean + sigma * slope

    return as_module(torch, (function, (points(torch, 4, 16), torch.tensor(0.5))), denoise, score)


def _langevin(torch: Any) -> Made:
    energy = mlp(torch, 16, 32, 1, act="Softplus")

    def function(x: Any, noise: Any) -> Any:
        for step in range(4):
            x = x - 0.1 * torch.autograd.grad(energy(x).sum(), x, create_graph=True)[0] + noise[step]
        return x

    return as_module(torch, (function, (points(torch, 4, 16), 0.1 * torch.randn(4, 4, 16))), energy)


def _score_matching(torch: Any) -> Made:
    score = mlp(torch, 4, 16, 4)

    def function(x: Any) -> Any:
        value = score(x)
        slopes = [torch.autograd.grad(value[:, i].sum(), x, retain_graph=True)[0][:, i] for i in range(4)]
        return sum(slopes[1:], slopes[0]) + (value * value).sum(-1) / 2

    return as_module(torch, (function, (points(torch, 8, 4),)), score)


def _burgers(torch: Any) -> Made:
    network = mlp(torch, 2, 32, 32, 1)

    def function(x: Any, t: Any) -> Any:
        u = network(torch.stack([x, t], -1))[:, 0]
        u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
        return u_t + u * u_x - 0.01 * torch.autograd.grad(u_x.sum(), x)[0]

    return as_module(torch, (function, (points(torch, 64), points(torch, 64))), network)


def _poisson(torch: Any) -> Made:
    network = mlp(torch, 2, 32, 1)

    def function(x: Any) -> Any:
        (slope,) = torch.autograd.grad(network(x).sum(), x, create_graph=True)
        second = [torch.autograd.grad(slope[:, i].sum(), x, retain_graph=True)[0][:, i] for i in range(2)]
        return second[0] + second[1] + torch.sin(x).prod(-1)

    return as_module(torch, (function, (points(torch, 32, 2),)), network)


def _jacobian(torch: Any) -> Made:
    network = mlp(torch, 6, 16, 4)
    function = torch.func.vmap(torch.func.jacrev(network))
    return as_module(torch, (function, (torch.randn(8, 6),)), network)


def _forward_jacobian(torch: Any) -> Made:
    network = mlp(torch, 3, 16, 8)
    return as_module(torch, (lambda x: torch.func.jacfwd(network)(x), (torch.randn(3),)), network)


def _hessian(torch: Any) -> Made:
    network = mlp(torch, 5, 16, 1)
    function = torch.func.hessian(lambda x: network(x).sum())
    return as_module(torch, (function, (torch.randn(5),)), network)


def _hvp(torch: Any) -> Made:
    network = mlp(torch, 16, 32, 1, act="Softplus")

    def function(x: Any, direction: Any) -> Any:
        (slope,) = torch.autograd.grad(network(x).sum(), x, create_graph=True)
        return torch.autograd.grad((slope * direction).sum(), x)[0]

    return as_module(torch, (function, (points(torch, 8, 16), torch.randn(8, 16))), network)


def _sgd(torch: Any) -> Made:
    network = mlp(torch, 16, 32, 4, act="ReLU")
    arguments = parameters_of(network), torch.randn(16, 16), torch.randint(4, (16,))
    return as_module(torch, (sgd_step(torch, network), arguments), network)


def sgd_step(torch: Any, network: Any, rate: float = 0.01) -> Callable[..., Any]:
    """Return a step of SGD on a cross entropy: (parameters, x, labels) -> the loss, new parameters."""

    def loss(parameters: Any, x: Any, labels: Any) -> Any:
        logits = torch.func.functional_call(network, parameters, (x,))
        return torch.nn.functional.cross_entropy(logits, labels)

    def step(parameters: Any, x: Any, labels: Any) -> Any:
        slopes, value = torch.func.grad_and_value(loss)(parameters, x, labels)
        return value, {name: p - rate * slopes[name] for name, p in parameters.items()}

    return step


def parameters_of(network: Any) -> Any:
    """Return copies of the parameters by name."""
    return {name: parameter.detach().clone() for name, parameter in network.named_parameters()}


FUNCTIONS: Mapping[str, Differentiating] = {
    "lennard-jones": Differentiating(_lennard_jones, "forces of a pair potential"),
    "morse": Differentiating(_morse, "forces of a pair potential"),
    "pair-network": Differentiating(_pair_network, "forces of a network of distances"),
    "message-passing": Differentiating(_message_passing, "forces of a graph network"),
    "pendulum": Differentiating(_pendulum, "Hamilton's equations"),
    "hamiltonian": Differentiating(_hamiltonian, "a Hamiltonian network"),
    "lagrangian": Differentiating(_lagrangian, "mass matrix and forces of a Lagrangian network"),
    "saliency": Differentiating(_saliency, "the image gradient of the largest score"),
    "grad-cam": Differentiating(_grad_cam, "a class activation map"),
    "smooth-grad": Differentiating(_smooth_grad, "a gradient at four noisy images"),
    "integrated-gradients": Differentiating(_integrated_gradients, "eight steps"),
    "attack": Differentiating(_attack, "a step of the fast gradient sign method"),
    "guidance": Differentiating(_guidance, "a guided step of a sampler"),
    "langevin": Differentiating(_langevin, "four steps on an energy"),
    "score-matching": Differentiating(_score_matching, "the divergence of a score"),
    "burgers": Differentiating(_burgers, "the residual of Burgers' equation"),
    "poisson": Differentiating(_poisson, "the residual of Poisson's equation"),
    "jacobian": Differentiating(_jacobian, "reverse mode, one for each sample"),
    "forward-jacobian": Differentiating(_forward_jacobian, "forward mode"),
    "hessian": Differentiating(_hessian, "forward over reverse mode"),
    "hvp": Differentiating(_hvp, "a product of the Hessian and a vector"),
    "sgd": Differentiating(_sgd, "a training step of a small network"),
}
