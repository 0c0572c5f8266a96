"""The texts by which the source refuses, found by reading it: raised errors, refusals of messages, faults returned."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from scheduler import Rejected, errors

ROOMS: Final = ("network/codec.py", "network/wire.py", "scheduler", "validators")
"""The files and folders that refuse what comes from elsewhere: from peers, clients, programs and disks."""

PASSED_ON: Final = ("?", "seal: *")
"""Texts that are made up elsewhere, where they are sites of their own."""

USELESS: Final = "stale"
"""The reason of messages that are passed over without being refused."""

_NAMING: Final = ("name", "show", "describe")
"""Words in names of functions whose texts say what something is, and refuse nothing."""

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
        for site in sites_of(path.relative_to(root).as_posix(), _read(path), kinds, _constants_of(root, path))
    ]


def sites_of(place: str, source: str, kinds: Sequence[str], constants: Mapping[str, str]) -> Iterator[Site]:
    """Yield the places of one module; `constants` are the texts that its upper-case names stand for."""
    tree = _Inlined(constants).visit(ast.parse(source))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in _own_nodes(function):
                for kind, text in _texts(function, node, kinds, returns=_returns_faults(place, function)):
                    if text not in (*PASSED_ON, USELESS):
                        yield Site(f"{place} {function.name}", kind, text)


def _returns_faults(place: str, function: ast.FunctionDef) -> bool:
    """Whether the texts that a function returns are faults: by its name, or as what it reads is of peers."""
    if "find" in function.name and "fault" in function.name:
        return True
    if not place.startswith(("validators/consensus/", "validators/sync/")) or function.returns is None:
        return False
    returned = ast.unparse(function.returns)
    is_text = returned == "str" or (returned.startswith("tuple[str, ") and returned != "tuple[str, ...]")
    return is_text and not any(word in function.name for word in _NAMING)


class _Inlined(ast.NodeTransformer):
    """Puts the text of a constant where its name stands: as a name it would be no site."""

    def __init__(self, constants: Mapping[str, str]) -> None:
        self._constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = self._constants.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if text is None else ast.copy_location(ast.Constant(text), node)


def _constants_of(root: Path, path: Path) -> Mapping[str, str]:
    """Return the texts of a module's upper-case names, its own and those that it imports from the project."""
    found = dict(_own_constants(path))
    for node in ast.parse(_read(path)).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            source = root.joinpath(*node.module.split(".")).with_suffix(".py")
            texts = _own_constants(source) if source.exists() else {}
            found |= {name.asname or name.name: texts[name.name] for name in node.names if name.name in texts}
    return found


@cache
def _own_constants(path: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for node in ast.parse(_read(path)).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        if is_text and isinstance(target, ast.Name) and target.id.isupper():
            found[target.id] = value.value
    return found


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def raised_kinds(root: Path) -> list[str]:
    """Return the names of all exceptions of the project that these rooms raise, in order."""
    names: dict[str, None] = {}
    for path in _files(root):
        for node in ast.walk(ast.parse(_read(path))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                names[ast.unparse(raised)] = None
    return sorted(names)


def _files(root: Path) -> Iterator[Path]:
    for room in ROOMS:
        path = root / room
        yield from sorted(path.rglob("*.py")) if path.is_dir() else (path,)


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are in no function within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            waiting.extend(ast.iter_child_nodes(node))


def _texts(
    function: ast.FunctionDef, node: ast.AST, kinds: Sequence[str], *, returns: bool
) -> Iterator[tuple[str, str]]:
    if returns and isinstance(node, ast.Return) and node.value is not None:
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
