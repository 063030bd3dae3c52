"""No page has a hand-written speed: what is fast and how fast stands in parts that are made from files of
measurements, in pictures of them, and in what a command of the page prints."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("sybil", reason="pip install -e '.[dev]' brings sybil")

from support.pages import ROOT, pages

NUMBER = r"(?:\d[\d.,]*|half|twice|two|three|four|five|ten|several)"
SPEED = re.compile(
    rf"""
    \b\d[\d.,]*\s?(?:ms|µs|us|ns|milliseconds?|microseconds?|seconds?|minutes?|s)\b
    | \b{NUMBER}\s(?:times\s)?as\s(?:fast|slow|long|quick)
    | \b{NUMBER}\s(?:times|%|percent)\s(?:faster|slower|quicker|longer|more\sthan)
    | \d\s?%\s(?:of\sthe\s)?(?:peak|time|speed|faster|slower|longer)
    | \b\d[\d.,]*(?:x|×|-fold)\s(?:faster|slower|speed|as)
    | (?:[KMGT]FLOP|[kMG]B)s?/s\b | \b[KMGT]FLOPS\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
GENERATED = re.compile(r"<!-- ([\w -]+): begin -->.*?<!-- \1: end -->", re.DOTALL)
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)


def speeds(text: str) -> list[str]:
    """What looks like a speed in the prose of a page; a path or command in backticks is none."""
    prose = re.sub(r"`[^`\n]*`", "", FENCED.sub("", GENERATED.sub("", text)))
    return [match[0] for match in SPEED.finditer(" ".join(prose.split()))]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_speed_is_written_by_hand(page):
    assert speeds(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "It takes 3.1 ms.",
        "in 40 seconds",
        "is 1.8 times as fast as torch",
        "torch is several times as fast",
        "twice as fast",
        "12 % faster",
        "2x faster",
        "30 GFLOP/s",
        "at 12 GB/s",
        "5.1 % longer",
        "half as fast",
        "80 % of the peak",
        "7.2 GFLOPS",
    ],
)
def test_speeds_are_found(text):
    assert speeds(text)


@pytest.mark.parametrize(
    "text",
    [
        "How many times as fast as the best peer",
        "rounds by 0.5 ulps",
        "within 10 % of the fastest",
        "`--seconds 60 s`",
        "<!-- speed table: begin -->\n3 ms\n<!-- speed table: end -->",
        "```console\n$ gradc explain\n3 ms\n```",
        "2 GB of weights, opset 18",
        "a product of 7.2 Mflop",
    ],
)
def test_other_numbers_are_not(text):
    assert not speeds(text)
