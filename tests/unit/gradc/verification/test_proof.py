"""The outcome of a gradient check as a line of text."""

from __future__ import annotations

import pytest

from gradc.verification.proof import Proof, Undecided

KINK = Undecided("Relu r", "24 elements at its kink")


@pytest.mark.parametrize(
    ("proof", "status", "line"),
    [
        (Proof(reason="--no-check"), "not checked", "not checked (--no-check)"),
        (
            Proof(176, 176, 3e-9, ran=True, whole=True),
            "proved",
            "proved: 176 of 176 ops and the whole, worst 3e-9",
        ),
        (Proof(1, 0, 0.0, (KINK,), ran=True), "partly proved", f"proved: 0 of 1 op; not decided: {KINK}"),
        (
            Proof(6, 1, 1e-8, (KINK,) * 5, ran=True),
            "partly proved",
            f"proved: 1 of 6 ops, worst 1e-8; not decided: {KINK}, {KINK}, {KINK} and 2 more",
        ),
        (Proof(1, 1, 0.0, ran=True, whole=True), "proved", "proved: 1 of 1 op and the whole, worst 0"),
        (Proof(1, 1, 2e-12, ran=True), "partly proved", "proved: 1 of 1 op, worst 2e-12"),
        (
            Proof(1, 1, 1e-8, not_reached=("else branch of If n",), ran=True, whole=True),
            "partly proved",
            "proved: 1 of 1 op and the whole, worst 1e-8; not reached: else branch of If n",
        ),
    ],
)
def test_a_line(proof: Proof, status: str, line: str):
    assert (proof.status, str(proof)) == (status, line)
