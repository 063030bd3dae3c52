"""Selection of values from names, patterns and the words `:weights` and `:inputs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import Diagnostic, UsageError, sentence, several, suggest
from dialects.support.entry import entry_function, input_names
from dialects.support.error_list import Errors
from dialects.support.names import hint_of, name_of_value
from dialects.support.option_names import advice, option
from gradc.compiler.source_metadata import required_weights
from gradc.compiler.traced_names import MERGED
from gradc.compiler.trainable_weights import Weight, find_weights
from gradc.compiler.untied_weights import parts_of_weights
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.file_names import IN_FILE
from passes.autodiff.named_values import values_by_name
from passes.autodiff.request import floats

WEIGHTS, INPUTS = KEYWORDS = (":weights", ":inputs")


@dataclass(frozen=True)
class Selection:
    """The names of `wrt`; those that a pattern or keyword selected are optional."""

    names: Sequence[str]
    optional: Sequence[str] = ()


def select(module: ModuleOp, given: Sequence[str], frozen: Sequence[str] = ()) -> Selection:
    """Return the names of the values that `given` selects without those of `frozen`.

    Raises UsageError for two names of one value, a frozen word that matches nothing or is a name in `given`,
    and a selection without values.
    """
    known = _Names(module)
    given = given or ((INPUTS,) if frozen else ())
    names: list[str] = []
    plain: list[str] = []
    for word in given:
        found = known.expand("wrt", word)
        if not found:
            _check_near(word, known)
        if known.is_plain(word) or not found:
            own = [name for name in found if name == word or name not in given] or [word]
            plain += own
            names += own
        else:
            taken = {known.values[name] for name in names if name in known.values}
            names += [name for name in found if known.values[name] not in taken]
    _check_once(names, known.values)
    _check_stored_once(given, known)
    if frozen:
        names = _without(names, plain, _frozen_values(known, frozen), known)
    return Selection(names, [name for name in names if name not in plain])


def select_stopped(module: ModuleOp, given: Sequence[str]) -> list[str]:
    """Return the names of the values that `stop_gradient` selects, each value once; unknown names as they
    are. Raises UsageError for a pattern that matches nothing."""
    known, first, errors = _Names(module), dict[SSAValue | str, str](), Errors()
    for word in given:
        with errors.collecting():
            names = known.expand("stop_gradient", word)
            if not names and _is_pattern(word):
                hint = suggest(word, known.all) or "gradc inspect --values lists all values"
                raise _usage(f"{option('stop_gradient')}: no value matches {word}", hint=hint)
            for name in names or [word]:
                first.setdefault(known.values.get(name, name), name)
    errors.check()
    return list(first.values())


def name_weights(module: ModuleOp, given: Iterable[str]) -> None:
    """Give weights whose names an exporter replaced the names in `given` that the exported module had."""
    words = [word for word in given if not _is_pattern(word) and word not in KEYWORDS]
    known = _Names(module)
    for word in words:
        if word in known.values:
            continue
        found = known.of_module(word)
        if len(found) == 1 and found[0] not in words:
            value, stored = known.values[found[0]], known.weights[found[0]].source.stored
            value.name_hint = hint_of(word)
            if isinstance(value.owner, ConstantOp):
                text = f"{found[0]}, {stored}," if stored else found[0]
                value.owner.attributes[IN_FILE] = StringAttr(text)
            words.append(found[0])


class _Names:
    """The names in a module."""

    def __init__(self, module: ModuleOp) -> None:
        self.module, self.function = module, entry_function(module)
        self.values = values_by_name(self.function)

    @cached_property
    def weights(self) -> Mapping[str, Weight]:
        return find_weights(self.module)

    @cached_property
    def parts(self) -> Mapping[str, Sequence[str]]:
        return parts_of_weights(self.function)

    def of_module(self, name: str) -> list[str]:
        """Return the weights that hold a parameter of the exported module."""
        return [one.name for one in self.weights.values() if name in one.source.names]

    def is_plain(self, word: str) -> bool:
        """Return whether a word is a name of one value, no pattern or keyword."""
        return word in self.values or (not _is_pattern(word) and bool(self.of_module(word)))

    @property
    def all(self) -> list[str]:
        return [*self.values, *(name for one in self.weights.values() for name in one.source.names)]

    def expand(self, what: str, word: str) -> list[str]:
        """Return the names that a word selects, each value once; none for an unknown word."""
        if word in self.values:
            return [word, *self.parts.get(word, ())]
        if word == INPUTS:
            return floats(self.function.args, input_names(self.function))
        if word == WEIGHTS:
            return self._trainable(what)
        if word.startswith(":"):
            expected = f"a name, a pattern, {' or '.join(KEYWORDS)}"
            raise _usage(option(what), word, expected, suggest(word, KEYWORDS))
        return self._matching(word) if _is_pattern(word) else self.of_module(word)

    def _trainable(self, what: str) -> list[str]:
        found = [one.name for one in self.weights.values() if one.is_trainable]
        found += required_weights(self.module)
        if not found:
            hint = "`gradc weights` lists all weights with the reasons"
            raise _usage(f"{option(what)} {WEIGHTS}", "a model without trainable weights", hint=hint)
        return found

    def _matching(self, pattern: str) -> list[str]:
        known = {n: v for n, v in self.values.items() if is_float(v) and not _is_unread(v)}
        found = {value: name for name, value in known.items() if fnmatchcase(name, pattern)}
        for value in [value for value in found if isinstance(value.owner, ConstantOp)]:
            found |= {self.values[part]: part for part in self.parts.get(name_of_value(value), ())}
        for one in self.weights.values():
            if any(fnmatchcase(name, pattern) for name in one.source.names):
                found.setdefault(one.value, one.name)
        return list(found.values())


def _frozen_values(known: _Names, frozen: Sequence[str]) -> set[SSAValue]:
    errors, found = Errors(), set[SSAValue]()
    for word in frozen:
        with errors.collecting():
            names = known.expand("frozen", word)
            if not names:
                hint = suggest(word, known.all) or "gradc inspect --values lists all values"
                raise _usage(f"{option('frozen')}: no value matches {word}", hint=hint)
            for name in names:
                _check_all_frozen(name, known, frozen)
            found.update(known.values[name] for name in names)
    errors.check()
    return found


def _check_all_frozen(name: str, known: _Names, frozen: Sequence[str]) -> None:
    """Raise UsageError for a weight that equal parameters share of which only some are frozen."""
    weight = known.weights.get(name)
    if weight is None or weight.source.stored != MERGED or WEIGHTS in frozen:
        return
    names = [name, *weight.source.names]
    left = [one for one in names if not any(fnmatchcase(one, word) for word in frozen)]
    if left:
        given = several([one for one in names if one not in left])
        hint = advice("untie", "gives each of them a weight", True)
        expected = f"{several(left)} as well, which is the same weight in the file"
        raise _usage(option("frozen"), given, expected, hint)


def _without(names: Sequence[str], plain: Sequence[str], frozen: set[SSAValue], known: _Names) -> list[str]:
    both = [name for name in plain if known.values.get(name) in frozen]
    if both:
        given = f"{several(both)} in {option('wrt')} and in {option('frozen')}"
        raise _usage(f"{option('wrt')} and {option('frozen')}", given, "each name in one of the two")
    left = [name for name in names if known.values.get(name) not in frozen]
    if names and not left:
        raise _usage(option("frozen"), f"all of {several(names)}", "a part of the values to differentiate by")
    return left


def _is_pattern(word: str) -> bool:
    return any(character in word for character in "*?")


def _is_unread(value: SSAValue) -> bool:
    """Return whether a value is an unused weight, which patterns do not match."""
    return isinstance(value.owner, ConstantOp) and not any(value.uses)


def _check_once(names: Iterable[str], values: Mapping[str, SSAValue]) -> None:
    """Raise UsageError for two names of one value, such as those of a node and of its result."""
    first: dict[SSAValue, str] = {}
    for name in dict.fromkeys(names):
        other = first.setdefault(values[name], name) if name in values else name
        if other != name:
            given = several([other, name])
            raise _usage(option("wrt"), given, "each value once", "both are names of one value")


def _check_stored_once(words: Iterable[str], known: _Names) -> None:
    """Raise UsageError for two names of the exported module that are one weight in the file."""
    first = {word: word for word in words if word in known.values}
    for word in dict.fromkeys(words):
        for name in known.of_module(word) if word not in first and known.is_plain(word) else ():
            other = first.setdefault(name, word)
            if other != word:
                hint = advice("untie", "gives each of its readers a weight", True)
                both = f"both are {name} in the file"
                given = several([other, word])
                raise _usage(option("wrt"), given, "each value once", "; ".join(filter(None, (both, hint))))


def _check_near(word: str, known: _Names) -> None:
    """Raise UsageError for an unknown word that is near a name of the exported module. The passes that read
    the names raise the errors of other unknown words."""
    hint = suggest(word, known.all)
    if hint and hint != suggest(word, known.values):
        raise _usage(f"{option('wrt')}: there is no value {word}", hint=hint)


def _usage(what: str, given: object = None, expected: object = None, hint: str = "") -> UsageError:
    return UsageError(Diagnostic("error", sentence(what, given, expected, hint)))
