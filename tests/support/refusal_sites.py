"""The texts by which the source refuses, found by reading it: raised errors, refusals of messages, faults returned."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from scheduler import Rejected, errors

ROOMS: Final = ("network/codec.py", "network/wire.py", "scheduler", "validators")
"""The files and folders that refuse what comes from elsewhere: from peers, clients, programs and disks."""

PASSED_ON: Final = "?"
"""A text that is made up elsewhere, where it is a site of its own."""

_REJECTED: Final = tuple(
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Rejected)
)

_CALLS: Final[Mapping[str, int]] = {"refuse": -1, "_refuse": -1, "_go_on": 0}
"""Functions that refuse, and the place of the text among their arguments."""


class Site(NamedTuple):
    """One place that refuses; `text` has `*` for each value in it, and begins with the error's class where that is
    all there is, or the error has a field.
    """

    place: str
    kind: str
    text: str


def find_sites(root: Path, kinds: Sequence[str]) -> list[Site]:
    """Return every place that raises or returns one of these kinds, or refuses in another way."""
    return [
        site
        for path in _files(root)
        for site in _sites_of(path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8")), kinds)
    ]


def raised_kinds(root: Path) -> list[str]:
    """Return the names of all exceptions of the project that these rooms raise, in order."""
    names: dict[str, None] = {}
    for path in _files(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                names[ast.unparse(raised)] = None
    return sorted(names)


def _files(root: Path) -> Iterator[Path]:
    for room in ROOMS:
        path = root / room
        yield from sorted(path.rglob("*.py")) if path.is_dir() else (path,)


def _sites_of(place: str, tree: ast.Module, kinds: Sequence[str]) -> Iterator[Site]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in _own_nodes(function):
                for kind, text in _texts(function, node, kinds):
                    if text != PASSED_ON:
                        yield Site(f"{place} {function.name}", kind, text)


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are in no function within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            waiting.extend(ast.iter_child_nodes(node))


def _texts(function: ast.FunctionDef, node: ast.AST, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Return) and node.value is not None and "find" in function.name and "fault" in function.name:
        yield from (("return", text) for text in _literals(node.value))
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id in _REJECTED:
        yield node.exc.id, f"{node.exc.id}: "
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    if name in kinds:
        yield from ((name, text) for text in _error_texts(function, name, node))
    elif name in _CALLS and node.args and len(node.args) > _CALLS[name]:
        for text in _literals(node.args[_CALLS[name]]):
            yield name, f"* of * bytes: {text}" if len(node.args) == 1 and name == "refuse" else text


def _error_texts(function: ast.FunctionDef, name: str, call: ast.Call) -> Iterator[str]:
    given = [*call.args, *(word.value for word in call.keywords if word.arg in {"reason", "what"})]
    if name in {"Settled", "MessageCheck", "Damage"}:
        given = given[-1:]
    if name in _REJECTED:
        yield f"{name}: {(': ' if name == 'InvalidInput' else ' ').join(_template(each) or '*' for each in given)}"
        return
    if name == "Refused":
        yield _template(given[0])
        return
    texts = [text for each in given[:1] for text in _resolved(function, each)]
    yield from texts


def _resolved(function: ast.FunctionDef, node: ast.expr) -> list[str]:
    """Return the texts of an argument; of a variable, all texts that its function may have put into it."""
    if not isinstance(node, ast.Name):
        return _literals(node)
    found = [text for each in _own_nodes(function) for text in _assigned(each, node.id)]
    if found:
        return found
    # What a loop takes from a tuple stands in the function: each text with a space in it is one.
    loops = [each.iter for each in _own_nodes(function) if isinstance(each, ast.For)]
    sources = [each for each in _own_nodes(function) if isinstance(each, ast.Assign)]
    texts = [text for each in (*loops, *(source.value for source in sources)) for text in _literals(each)]
    return [text for text in texts if " " in text] or ([node.id] if node.id.isupper() else [])


def _assigned(node: ast.AST, name: str) -> list[str]:
    targets = [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []
    return _literals(node.value) if isinstance(node, ast.Assign) and targets == [name] else []


def _literals(node: ast.AST) -> list[str]:
    """Return the templates of the texts in an expression, none of which is part of another."""
    text = _template(node)
    if text:
        return [text]
    return [text for child in ast.iter_child_nodes(node) for text in _literals(child)]


def _template(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "*" for part in node.values)
    if isinstance(node, ast.Attribute) and node.attr.isupper():
        return node.attr
    return ""
