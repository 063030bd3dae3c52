"""The peers, one file each; a peer's package is imported when the peer is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dialects.support.diagnostics import Diagnostic, UsageError, sentence, suggest
from gradc.bench.peers.base import Peer

NONE = "none"


def _torch() -> type[Peer]:
    from gradc.bench.peers.torch import TorchPeer

    return TorchPeer


def _onednn() -> type[Peer]:
    from gradc.bench.peers.onednn import OnednnPeer

    return OnednnPeer


def _onnx_ad() -> type[Peer]:
    from gradc.bench.peers.onnx_ad import OnnxAdPeer

    return OnnxAdPeer


PEERS: Mapping[str, Callable[[], type[Peer]]] = {"torch": _torch, "onednn": _onednn, "onnx-ad": _onnx_ad}


def check_names(names: Sequence[str], peers: Iterable[str] = PEERS) -> None:
    """Raise UsageError unless all are peers."""
    known = (*peers, NONE)
    for name in names:
        if name not in known:
            text = sentence("--peers", name or "nothing", f"one of {', '.join(known)}", suggest(name, known))
            raise UsageError(Diagnostic("error", text))


def open_peer(name: str, threads: int) -> Peer:
    """Return the peer, set to a number of threads. Raises NotAvailable."""
    return PEERS[name]()(threads)
