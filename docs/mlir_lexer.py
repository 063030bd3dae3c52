"""MLIR for Pygments, which has no lexer for it: values, types, attributes, ops."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text


class MlirLexer(RegexLexer):
    name = "MLIR"
    aliases = ("mlir",)
    tokens = {
        "root": [
            (r"//.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r"[%@^#!][\w.$-]+", Name.Variable),
            (r"\b(?:tensor|dense|array|true|false)\b", Keyword.Type),
            (r"\b[a-z_]\w*\.[\w.]+", Name.Function),
            (r"-?\d[\w.]*", Number),
            (r"[a-zA-Z_]\w*", Name.Attribute),
            (r"[=:<>{}()\[\],x?*-]+", Operator),
            (r"\s+|.", Text),
        ]
    }
