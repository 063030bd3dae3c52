"""Functions of torch that take derivatives themselves: forces, saliency maps, residuals, training steps.

`CASES` is the list; each has example arguments and the dims that are dynamic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
F, nn = torch.nn.functional, torch.nn
grad = torch.autograd.grad


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    dynamic_shapes: Any = None
    least: int = 1
    """The least size of the dynamic dims at which the function runs."""


CASES: list[Case] = []


def case(
    *args: Any, dynamic_shapes: Any = None, least: int = 1
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function.__name__, function, args, dynamic_shapes, least))
        return function

    return add


_GENERATOR = torch.Generator().manual_seed(38)


def real(*shape: int) -> Any:
    return torch.randn(*shape, generator=_GENERATOR)


def points(*shape: int) -> Any:
    """Return points that are not close to one another."""
    return 2 * torch.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)) + 0.3 * real(*shape)


def whole(high: int, *shape: int) -> Any:
    return torch.randint(high, shape, generator=_GENERATOR)


def fixed(module: Any) -> Any:
    """Return a module with parameters that do not depend on the order of the tests."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.3 * real(*parameter.shape))
    return module


def mlp(*sizes: int, act: Any = nn.Tanh) -> Any:
    layers: list[Any] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), act()]
    return fixed(nn.Sequential(*layers[:-1]))


# Force fields and mechanics


@case(points(5, 3), dynamic_shapes=({0: "N"},))
def lennard_jones_forces(x: Any) -> Any:
    x = x.detach().requires_grad_()
    i, j = torch.triu_indices(len(x), len(x), 1)
    r = (x[i] - x[j]).norm(dim=1)
    energy = (4 * (r**-12 - r**-6)).sum()
    return energy.detach(), -grad(energy, x)[0]


@case(points(4, 3), dynamic_shapes={"positions": {0: "N"}})
def pair_forces(positions: Any) -> Any:
    positions = positions.detach().requires_grad_()
    offsets = positions[:, None] - positions[None]
    squares = offsets.square().sum(-1) + torch.eye(len(positions))
    energy = (torch.exp(-squares) / (1 + squares)).sum() / 2
    (gradient,) = grad(energy, positions)
    return {"energy": energy.detach(), "forces": -gradient}


class Interaction(nn.Module):
    """A continuous-filter network on a graph, as in SchNet."""

    def __init__(self, width: int = 8, rounds: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(10, width)
        self.filters = nn.ModuleList(mlp(6, width, width, act=nn.Softplus) for _ in range(rounds))
        self.mixes = nn.ModuleList(mlp(width, width, width, act=nn.SiLU) for _ in range(rounds))
        self.read = mlp(width, width, 1, act=nn.SiLU)
        self.register_buffer("centers", torch.linspace(0, 5, 6))

    def forward(self, kinds: Any, positions: Any, edges: Any) -> Any:
        i, j = edges
        r = (positions[i] - positions[j]).norm(dim=-1)
        basis = torch.exp(-(r[:, None] - self.centers).square())
        cut = 0.5 * (torch.cos(r * torch.pi / 12) + 1) * (r < 12)
        h = self.embedding(kinds)
        for make, mix in zip(self.filters, self.mixes, strict=True):
            messages = h[j] * make(basis) * cut[:, None]
            h = h + mix(torch.zeros_like(h).index_add(0, i, messages))
        return self.read(h).sum()


SCHNET = fixed(Interaction())
EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
GRAPH_DIMS = ({0: "N"}, {0: "N"}, {1: "E"})


@case(whole(10, 4), points(4, 3), EDGES, dynamic_shapes=GRAPH_DIMS, least=4)
def schnet_forces(kinds: Any, positions: Any, edges: Any) -> Any:
    positions = positions.detach().requires_grad_()
    energy = SCHNET(kinds, positions, edges)
    return energy, -grad(energy, positions)[0]


@case(whole(10, 4), points(4, 3), EDGES, 5 * torch.eye(3), dynamic_shapes=(*GRAPH_DIMS, None), least=4)
def schnet_stress(kinds: Any, positions: Any, edges: Any, cell: Any) -> Any:
    strain = torch.zeros(3, 3, requires_grad=True)
    positions = positions.detach().requires_grad_()
    deformed = positions + positions @ (0.5 * (strain + strain.T))
    energy = SCHNET(kinds, deformed, edges)
    forces, virial = grad(energy, (positions, strain))
    return {"energy": energy, "forces": -forces, "stress": virial / torch.det(cell).abs()}


@case(points(3, 3))
def vibrations(x: Any) -> Any:
    def energy(flat: Any) -> Any:
        y = flat.view(-1, 3)
        return torch.exp(-0.1 * (y[:, None] - y[None]).square().sum(-1)).sum()

    return torch.func.hessian(energy)(x.reshape(-1))


SPRINGS = torch.tensor([[0, 1, 2], [1, 2, 3]])


@case(points(4, 2), real(4, 2), dynamic_shapes=({}, {}))
def verlet_steps(x: Any, v: Any) -> Any:
    def force(y: Any) -> Any:
        y = y.detach().requires_grad_()
        stretch = (y[SPRINGS[0]] - y[SPRINGS[1]]).norm(dim=1) - 1.5
        return -grad(stretch.square().sum(), y)[0]

    for _ in range(3):
        v = v + 0.05 * force(x)
        x = x + 0.1 * v
        v = v + 0.05 * force(x)
    return x, v


HAMILTONIAN = mlp(4, 16, 1)


@case(real(6, 4), dynamic_shapes=({0: "B"},))
def hamiltonian_field(state: Any) -> Any:
    gradient = torch.func.vmap(torch.func.grad(lambda z: HAMILTONIAN(z).squeeze()))(state)
    dq, dp = gradient.chunk(2, dim=-1)
    return torch.cat([dp, -dq], dim=-1)


@case(points(5, 3), dynamic_shapes=({0: "N"},))
def cdist_forces(x: Any) -> Any:
    x = x.detach().requires_grad_()
    return -grad(torch.exp(-torch.cdist(x, x[:3])).sum(), x)[0]


# Saliency maps

CNN = fixed(
    nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 5),
    )
).eval()
IMAGES = {0: "B", 2: "H", 3: "W"}


@case(real(2, 3, 16, 16), dynamic_shapes=(IMAGES,))
def grad_cam(image: Any) -> Any:
    kept: list[Any] = []
    handle = CNN[5].register_forward_hook(lambda _module, _inputs, output: kept.append(output))
    scores = CNN(image)
    handle.remove()
    activation = kept[-1]
    (gradient,) = grad(scores.max(dim=1).values.sum(), activation)
    weights = gradient.mean(dim=(2, 3), keepdim=True)
    heat = F.relu((weights * activation).sum(1, keepdim=True))
    heat = F.interpolate(heat, size=image.shape[2:], mode="bilinear", align_corners=False)
    return scores, heat / (heat.amax(dim=(2, 3), keepdim=True) + 1e-6)


@case(real(2, 3, 16, 16), whole(5, 2), dynamic_shapes=(IMAGES, {0: "B"}))
def input_saliency(image: Any, label: Any) -> Any:
    image = image.detach().requires_grad_()
    picked = CNN(image).gather(1, label[:, None]).sum()
    return grad(picked, image)[0].abs().amax(1)


@case(real(3, 16, 16), dynamic_shapes=({1: "H", 2: "W"},))
def integrated_gradients(image: Any) -> Any:
    steps = torch.linspace(0.125, 1, 8).view(-1, 1, 1, 1)
    path = (steps * image).requires_grad_()
    return grad(CNN(path)[:, 2].sum(), path)[0].mean(0) * image


@case(real(3, 16, 16), 0.1 * real(4, 3, 16, 16))
def smooth_grad(image: Any, noise: Any) -> Any:
    noisy = (image + noise).requires_grad_()
    return grad(F.log_softmax(CNN(noisy), 1)[:, 1].sum(), noisy)[0].square().mean(0).sqrt()


@case(real(2, 3, 16, 16), whole(5, 2), dynamic_shapes=(IMAGES, {0: "B"}))
def fast_gradient_sign(image: Any, label: Any) -> Any:
    image = image.detach().requires_grad_()
    loss = F.cross_entropy(CNN(image), label)
    loss.backward()
    return (image + 0.03 * image.grad.sign()).clamp(-3, 3).detach()


class Classifier(nn.Module):
    """Token embedding, one block of attention, mean, classes."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, activation="gelu")
        self.head = nn.Linear(8, 3)

    def forward(self, embedded: Any) -> Any:
        return self.head(self.block(embedded).mean(1))


TEXT = fixed(Classifier()).eval()


@case(whole(20, 2, 6), dynamic_shapes=({0: "B", 1: "T"},))
def token_saliency(tokens: Any) -> Any:
    embedded = TEXT.embedding(tokens).detach().requires_grad_()
    scores = TEXT(embedded)
    return (grad(scores.logsumexp(1).sum(), embedded)[0] * embedded).sum(-1)


@case(real(2, 4, 6, 8), real(2, 4, 7, 8), dynamic_shapes=({0: "B", 2: "T"}, {0: "B", 2: "S"}))
def attention_saliency(query: Any, key: Any) -> Any:
    query, key = query.detach().requires_grad_(), key.detach().requires_grad_()
    out = F.scaled_dot_product_attention(query, key, key)
    return grad(out.square().sum(), (query, key))


# Guidance of samplers


class UNet(nn.Module):
    """A small U-Net, which runs at multiples of 4 only."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)])
        self.norm = nn.GroupNorm(2, 8)
        self.middle = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 4, 2, stride=2), nn.Conv2d(8, 2, 3, padding=1)])

    def forward(self, x: Any, t: Any) -> Any:
        a = F.silu(self.down[0](x))
        b = self.norm(F.silu(self.down[1](F.avg_pool2d(a, 2)))) + t.view(-1, 1, 1, 1)
        c = F.interpolate(self.middle(F.max_pool2d(b, 2)), scale_factor=2, mode="nearest")
        return self.up[1](torch.cat([a, F.silu(self.up[0](torch.cat([b, c], 1)))], 1))


UNET = fixed(UNet())


@case(real(2, 2, 16, 16), real(2), real(2, 2, 8, 8), dynamic_shapes=({0: "B"}, {0: "B"}, {0: "B"}))
def guided_step(x: Any, t: Any, measured: Any) -> Any:
    x = x.detach().requires_grad_()
    noise = UNET(x, t)
    clean = (x - 0.6 * noise) / 0.8
    error = (F.avg_pool2d(clean, 2) - measured).square().sum(dim=(1, 2, 3)).sqrt()
    (gradient,) = grad(error.sum(), x)
    return (0.9 * clean + 0.1 * noise - 0.5 * gradient).detach()


@case(real(1, 2, 16, 32), real(1), dynamic_shapes={"x": {2: "H", 3: "W"}, "t": None})
def score_of_images(x: Any, t: Any) -> Any:
    x = x.detach().requires_grad_()
    return grad(UNET(x, t).square().mean(), x)[0]


@case(real(3, 4), real(3, 4), dynamic_shapes=({0: "B"}, {0: "B"}))
def langevin_step(x: Any, noise: Any) -> Any:
    score = torch.func.grad(lambda z: -HAMILTONIAN(z).sum())(x)
    return x + 0.05 * score + 0.1**0.5 * noise


# Physics-informed networks

PINN = mlp(2, 16, 16, 1)


@case(real(7, 2), dynamic_shapes=({0: "N"},))
def heat_residual(xt: Any) -> Any:
    x, t = xt.detach().requires_grad_().unbind(1)
    u = PINN(torch.stack([x, t], 1)).squeeze(1)
    u_x, u_t = grad(u.sum(), (x, t), create_graph=True)
    (u_xx,) = grad(u_x.sum(), x)
    return u_t - 0.1 * u_xx


@case(real(7, 2), dynamic_shapes=({0: "N"},))
def burgers_by_vmap(xt: Any) -> Any:
    def residual(point: Any) -> Any:
        u = lambda p: PINN(p).squeeze()  # noqa: E731
        first = torch.func.jacrev(u)(point)
        second = torch.func.hessian(u)(point)
        return first[1] + u(point) * first[0] - 0.01 * second[0, 0]

    return torch.func.vmap(residual)(xt)


@case(real(7, 2), dynamic_shapes=({0: "N"},))
def pinn_training_gradients(xt: Any) -> Any:
    xt = xt.detach().requires_grad_()
    u = PINN(xt)
    (first,) = grad(u.sum(), xt, create_graph=True)
    (second,) = grad(first[:, 0].sum(), xt, create_graph=True)
    loss = (first[:, 1] - second[:, 0]).square().mean() + u.square().mean()
    return loss.detach(), *grad(loss, list(PINN.parameters()))


# Jacobians and Hessians


@case(real(3), real(2))
def jacobian_of_tuple(x: Any, y: Any) -> Any:
    return torch.func.jacrev(lambda a, b: (torch.outer(a, b).sin(), a.prod()), argnums=(0, 1))(x, y)


@case(real(4))
def rosenbrock_hessian(x: Any) -> Any:
    def valley(z: Any) -> Any:
        return (100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum()

    return torch.autograd.functional.hessian(valley, x)


@case(real(3, 4), real(3, 4), dynamic_shapes=({0: "B"}, {0: "B"}))
def forward_mode(x: Any, direction: Any) -> Any:
    return torch.func.jvp(lambda z: HAMILTONIAN(z).tanh(), (x,), (direction,))


@case(real(3, 4), real(3, 4), dynamic_shapes=({0: "B"}, {0: "B"}))
def hessian_vector_product(x: Any, v: Any) -> Any:
    return torch.func.jvp(torch.func.grad(lambda z: HAMILTONIAN(z).sum()), (x,), (v,))[1]


@case(real(5, 4), dynamic_shapes=({0: "B"},))
def divergence(x: Any) -> Any:
    net = lambda z: torch.tanh(z @ torch.ones(4, 4).tril()) * z  # noqa: E731
    return torch.func.vmap(lambda z: torch.trace(torch.func.jacfwd(net)(z)))(x)


# Training steps


@case({"w": real(3, 4), "b": real(4)}, real(6, 3), whole(4, 6), dynamic_shapes=(None, {0: "B"}, {0: "B"}))
def sgd_step(params: Any, x: Any, y: Any) -> Any:
    def loss(p: Any) -> Any:
        return F.cross_entropy(x @ p["w"] + p["b"], y, label_smoothing=0.1)

    gradients, value = torch.func.grad_and_value(loss)(params)
    return {name: params[name] - 0.1 * gradients[name] for name in params}, value


@case(
    [real(3, 4), real(4)],
    [real(3, 4), real(4)],
    [real(3, 4).abs(), real(4).abs()],
    torch.tensor(3.0),
    real(6, 3),
    real(6, 4),
    dynamic_shapes=(None, None, None, None, {0: "B"}, {0: "B"}),
)
def adam_step(params: Any, first: Any, second: Any, step: Any, x: Any, y: Any) -> Any:
    params = [p.detach().requires_grad_() for p in params]
    loss = F.smooth_l1_loss(torch.addmm(params[1], x, params[0]), y)
    gradients = grad(loss, params)
    step = step + 1
    found: list[Any] = []
    for p, m, v, g in zip(params, first, second, gradients, strict=True):
        m = 0.9 * m + 0.1 * g
        v = torch.lerp(v, g * g, 0.001)
        found += [p - 0.01 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8), m, v]
    return loss.detach(), step, [f.detach() for f in found]


TRAINED = fixed(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.LeakyReLU(), nn.Linear(8, 3)))


@case(real(6, 4), whole(3, 6), dynamic_shapes=({0: "B"}, {0: "B"}), least=2)
def batch_norm_training(x: Any, y: Any) -> Any:
    loss = F.nll_loss(F.log_softmax(TRAINED(x), 1), y)
    return loss, grad(loss, list(TRAINED.parameters()))


@case(real(6, 3), real(6, 2), real(5, 3), dynamic_shapes=({0: "B"}, {0: "B"}, {0: "Q"}))
def inner_loop(x: Any, y: Any, query: Any) -> Any:
    weight = torch.ones(3, 2, requires_grad=True)
    adapted = weight
    for _ in range(2):
        loss = (x @ adapted - y).square().mean()
        (gradient,) = grad(loss, adapted, create_graph=True)
        adapted = adapted - 0.1 * gradient
    outer = (query @ adapted).square().sum()
    return outer, grad(outer, weight)[0]


CRITIC = mlp(4, 12, 1, act=nn.ELU)


@case(real(5, 4), real(5, 4), torch.linspace(0.1, 0.9, 5)[:, None], dynamic_shapes=({0: "B"},) * 3)
def gradient_penalty(true: Any, false: Any, share: Any) -> Any:
    mixed = (share * true + (1 - share) * false).requires_grad_()
    (slope,) = grad(CRITIC(mixed).sum(), mixed, create_graph=True)
    loss = CRITIC(false).mean() - CRITIC(true).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()
    return loss, grad(loss, list(CRITIC.parameters()), allow_unused=True)[:-1]


PICTURES = fixed(nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(3 * 16, 2)))


@case(real(5, 1, 6, 6), whole(2, 5))
def per_sample_gradients(x: Any, y: Any) -> Any:
    params = {name: p.detach() for name, p in PICTURES.named_parameters()}

    def loss(p: Any, image: Any, label: Any) -> Any:
        out = torch.func.functional_call(PICTURES, p, (image[None],))
        return F.cross_entropy(out, label[None])

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)


@case(real(4), real(4))
def leapfrog(q: Any, p: Any) -> Any:
    def slope(z: Any) -> Any:
        return torch.func.grad(lambda y: HAMILTONIAN(y).sum() + y.square().sum() / 2)(z)

    start = HAMILTONIAN(q).sum() + q.square().sum() / 2 + p.square().sum() / 2
    p = p - 0.05 * slope(q)
    for _ in range(2):
        q = q + 0.1 * p
        p = p - 0.1 * slope(q)
    end = HAMILTONIAN(q).sum() + q.square().sum() / 2 + p.square().sum() / 2
    return q, p, torch.exp(start - end).clamp(max=1)


CELL = fixed(nn.LSTMCell(3, 5))


@case(real(4, 2, 3), dynamic_shapes=({1: "B"},))
def lstm_cells(xs: Any) -> Any:
    h = c = xs.new_zeros(xs.shape[1], 5)
    for x in xs:
        h, c = CELL(x, (h, c))
    return h, grad(h.square().sum(), list(CELL.parameters()))


RECURRENT = fixed(nn.GRU(3, 5, batch_first=True))


@case(real(2, 4, 3), dynamic_shapes=({0: "B"},))
def recurrent_saliency(x: Any) -> Any:
    x = x.detach().requires_grad_()
    out, _ = RECURRENT(x)
    return grad(out[:, -1].sum(), x)[0]


# What autograd runs in other ways


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradients[0] * (x.abs() < 2)


@case(real(3, 4), dynamic_shapes=({0: "B"},))
def straight_through(x: Any) -> Any:
    x = x.detach().requires_grad_()
    return grad((StraightThrough.apply(x) * HAMILTONIAN(x)).sum(), x)[0]


@case(real(3, 4), dynamic_shapes=({0: "B"},))
def recomputed(x: Any) -> Any:
    from torch.utils.checkpoint import checkpoint

    x = x.detach().requires_grad_()
    return grad(checkpoint(HAMILTONIAN, x, use_reentrant=False).exp().sum(), x)[0]


@case(real(3, 4), dynamic_shapes=({0: "B"},))
def changes_of_views(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = x * 2
    y[:, 1] += y[:, 0].detach().sin()
    y[1:].mul_(x[:-1].detach())
    y.diagonal().exp_()
    return y, grad(y.square().sum(), x)[0]


@case(real(3, 4), dynamic_shapes=({0: "B"},))
def clipped_by_hooks(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = x.exp()
    y.register_hook(lambda gradient: gradient.clamp(-1, 1))
    with torch.no_grad():
        scale = y.mean()
    return grad((y * y * scale).sum(), x)[0], scale, scale, x


@case(real(2, 3, 8, 8), 0.1 * real(2, 5, 5, 2), dynamic_shapes=({0: "B", 2: "H", 3: "W"}, {0: "B"}))
def warped_images(image: Any, offsets: Any) -> Any:
    offsets = offsets.detach().requires_grad_()
    axis = torch.linspace(-0.9, 0.9, 5)
    base = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1)
    sampled = F.grid_sample(image, base + offsets, padding_mode="border", align_corners=False)
    return grad(sampled.square().mean(), offsets)[0]


def branches(x):  # torch.jit takes no Any
    return torch.where(x > 0, x.exp(), x.tanh())


SCRIPTED = torch.jit.script(branches)


@case(real(3, 4), dynamic_shapes=({0: "B"},))
def scripted_part(x: Any) -> Any:
    x = x.detach().requires_grad_()
    return grad(SCRIPTED(x).sum(), x)[0]
