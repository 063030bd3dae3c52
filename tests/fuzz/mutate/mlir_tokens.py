"""Changes to MLIR text, token by token."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from fuzz import words

TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?'
    r"|[%@#!^][\w.$-]+|[A-Za-z_][\w.$]*|->|::|\s+|.",
    re.DOTALL,
)

PUNCTUATION = (*'(){}[]<>,:=?*#!%@^"/-', "->", "::", "...", "{-#", "#-}", "//", "\\")

TYPES = (
    "tensor<*xf32>", "tensor<f32>", "tensor<0xf32>", "tensor<?x?x?x?xf32>", "tensor<1x2x3x3xf32>",
    'tensor<?x2x3x3xf32, ["N", "", "", ""]>', "tensor<1x2x3x3xf32, 5>", "tensor<2xi32>", "tensor<4xi64>",
    "tensor<2xui8>", "tensor<1x2x3x3xf64>", "tensor<1x2x3x3xbf16>", "tensor<1x2x3x3xtensor<1xf32>>",
    "tensor<1x2x3x3xcomplex<f32>>", "tensor<1x2x3x3xf8E4M3FN>", "tensor<1x2x3x3xindex>",
    "memref<1x2x3x3xf32>", "vector<4xf32>", "f32", "i1", "i65", "index", "none", "()", "(f32) -> f32",
    "tuple<f32>", "!llvm.ptr", "tensor<-1xf32>", "tensor<99999999999999999999xf32>",
    "tensor<9223372036854775808x1x1x1xf32>",
)  # fmt: skip

ATTRIBUTES = (
    "[]", "[1]", "[1, 1]", "[0, 0]", "[2, 2]", "[1.5, 2.0]", "[-1, 1]", '["a"]', "[[1]]", "{}", "{a}", "true",
    "unit", "dense<1> : tensor<2xi64>", "dense<[1, 2]> : tensor<2xi64>", 'dense<"0x00"> : tensor<1xf32>',
    "dense<> : tensor<0xf32>", "dense<0x7FC00000> : tensor<1xf32>", "array<i64: 1, 1>", "array<i32: 1>",
    "array<f32>", "1 : i32", "1.0 : f16", "0x7FC00000 : f32", "affine_map<(d0) -> (d0)>", "@main", "@a::@b",
    "loc(unknown)", 'loc("x":1:1)', "#onnx.x", 'opaque<"a", "b">', "strided<[1], offset: 0>",
    "dense_resource<x> : tensor<1xf32>", "sparse<0, 1> : tensor<1xi64>", "distinct[0]<1>", "#builtin.int<1>",
)  # fmt: skip

LINES = (
    "%0 = arith.constant dense<1.0> : tensor<2x2xf32>",
    "%c = arith.constant 1 : i32",
    "func.func private @f(tensor<1xf32>)",
    "func.func @g() { func.return }",
    "^bb1(%a: tensor<1xf32>):",
    "builtin.module { }",
    "func.return",
    '"onednn.interpolate_backward"() : () -> ()',
    '%q = "test.op"() : () -> tensor<1xf32>',
    "!t = tensor<1xf32>",
    "#a = dense<1.0> : tensor<1xf32>",
    '{-# dialect_resources: { builtin: { x: "0x04000000" } } #-}',
)


def mutated(random: Random, text: str, other: str) -> str:
    """The text with one change or a few; `other` is a text to take parts from."""
    tokens = TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice(_CHANGES)(random, tokens, other)
    return "".join(tokens)


def _at(random: Random, tokens: list[str]) -> int:
    """The index of a token that says something, else 0."""
    found = [i for i, token in enumerate(tokens) if not token.isspace()]
    return random.choice(found) if found else 0


def _drop(random: Random, tokens: list[str], other: str) -> None:
    at = _at(random, tokens)
    del tokens[at : at + random.choice((1, 1, 1, 3, 10))]


def _double(random: Random, tokens: list[str], other: str) -> None:
    at = _at(random, tokens)
    tokens[at:at] = tokens[at : at + random.choice((1, 1, 3, 10))]


def _swap(random: Random, tokens: list[str], other: str) -> None:
    if tokens:
        a, b = _at(random, tokens), _at(random, tokens)
        tokens[a], tokens[b] = tokens[b], tokens[a]


def _replace(random: Random, tokens: list[str], other: str) -> None:
    """A token by another one of the same sort: number, string, value, word; or by punctuation."""
    if not tokens:
        return
    at = _at(random, tokens)
    tokens[at] = _like(random, tokens[at], tokens)


def _like(random: Random, token: str, tokens: list[str]) -> str:
    if re.match(r"-?\d", token):
        return random.choice((str(random.randint(-2, 9)), _number(random)))
    if token.startswith('"'):
        text = random.choice((*words.attribute_words(), *words.STRINGS))
        return '"' + text.encode("utf-8", "replace").decode() + '"'
    if token[:1] in "%@#!^":
        alike = [t for t in tokens if t[:1] == token[:1] and len(t) > 1]
        return random.choice((*alike, token + "_1", token[0] + "0"))
    if token.strip() and token[0].isalpha():
        return random.choice((*words.op_names(), *words.attribute_names(), *TYPES, *words.DTYPES))
    return random.choice(PUNCTUATION)


def _number(random: Random) -> str:
    return str(random.choice((*words.INTEGERS, *words.FLOATS, "0x7FC00000", "0x", "1e", "1e999", "-", "?")))


def _small(random: Random, tokens: list[str], other: str) -> None:
    """A number by one beside it: what is almost right goes deep."""
    found = [i for i, token in enumerate(tokens) if re.fullmatch(r"-?\d{1,9}", token)]
    if found:
        at = random.choice(found)
        tokens[at] = str(int(tokens[at]) + random.choice((-1, 1)))


def _insert(random: Random, tokens: list[str], other: str) -> None:
    part = random.choice(
        (random.choice(PUNCTUATION), random.choice(TYPES), random.choice(ATTRIBUTES), _number(random))
    )
    tokens.insert(_at(random, tokens), part)


def _insert_line(random: Random, tokens: list[str], other: str) -> None:
    ends = [i for i, token in enumerate(tokens) if "\n" in token]
    tokens.insert(random.choice(ends) if ends else 0, "\n" + random.choice(LINES))


def _attribute(random: Random, tokens: list[str], other: str) -> None:
    """What stands after a `=` becomes something else, up to the next comma or brace."""
    found = [i for i, token in enumerate(tokens) if token == "="]
    if not found:
        return
    start = random.choice(found) + 1
    end = next((i for i in range(start, len(tokens)) if tokens[i] in (",", "}")), start)
    tokens[start:end] = [" ", random.choice(ATTRIBUTES)]


def _type(random: Random, tokens: list[str], other: str) -> None:
    """A tensor type by another one: of the text, or a strange one."""
    starts = [i for i, token in enumerate(tokens) if token == "tensor"]
    if not starts:
        return
    spans = [(i, _closing(tokens, i)) for i in starts]
    start, end = random.choice(spans)
    other_start, other_end = random.choice(spans)
    own = tokens[other_start:other_end]
    tokens[start:end] = own if random.random() < 0.5 else [random.choice(TYPES)]


def _type_everywhere(random: Random, tokens: list[str], other: str) -> None:
    """One size or dtype of a type, wherever the type stands: what is consistent goes deep."""
    starts = [i for i, token in enumerate(tokens) if token == "tensor"]
    if not starts:
        return
    text = "".join(tokens)
    start = random.choice(starts)
    old = "".join(tokens[start : _closing(tokens, start)])
    sizes = list(re.finditer(r"\d+(?=x)|\?(?=x)", old))
    if not sizes or random.random() < 0.2:
        new = re.sub(r"(bf16|f\d+)", random.choice(("f32", "f16", "bf16", "f64", "i32")), old)
    else:
        chosen = random.choice(sizes)
        size = random.choice(("?", "0", "1", str(random.randint(1, 9))))
        new = old[: chosen.start()] + size + old[chosen.end() :]
    tokens[:] = TOKEN.findall(text.replace(old, new))


def _word(random: Random, tokens: list[str], other: str) -> None:
    """A documented word by another one."""
    known = [f'"{word}"' for word in words.attribute_words()]
    found = [i for i, token in enumerate(tokens) if token in known]
    if found:
        tokens[random.choice(found)] = random.choice(known)


def _closing(tokens: list[str], start: int) -> int:
    """Behind the `>` that ends the type at `start`, or the end of the text."""
    return next((i + 1 for i in range(start, len(tokens)) if tokens[i] == ">"), len(tokens))


def _splice(random: Random, tokens: list[str], other: str) -> None:
    donor = TOKEN.findall(other)
    if donor:
        start = random.randrange(len(donor))
        at = _at(random, tokens)
        tokens[at:at] = donor[start : start + random.randint(1, 30)]


def _nest(random: Random, tokens: list[str], other: str) -> None:
    at, depth = _at(random, tokens), random.choice((5, 100, 2000))
    opened, closed = random.choice(
        (("[", "]"), ("{a = ", "}"), ("(", ")"), ("tensor<", ">"), ("builtin.module {", "}"))
    )
    tokens.insert(at, opened * depth + closed * depth)


_CHANGES: tuple[Callable[[Random, list[str], str], None], ...] = (
    _type_everywhere, _type_everywhere, _type_everywhere, _word, _word, _small, _small,
    _drop, _drop, _double, _swap, _replace, _replace, _replace, _small, _small, _insert, _insert_line,
    _attribute, _attribute, _type, _type, _splice, _nest,
)  # fmt: skip
