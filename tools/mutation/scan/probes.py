"""Probes: sources that count, in clean runs, whether a mutant would be reached and whether it would make a difference.

A mutant that no run executes needs no run of its own, nor one whose changed expression has its former value wherever it
is evaluated. So one pass of clean runs over instrumented sources leaves for each mutant the runs that can tell it from
the original. An expression without calls is evaluated in both forms; of a comparison or an arithmetic operation with
calls in it, the operands are, once, and then both operators are applied. For any other change, being evaluated counts
as a difference.

What runs at import is not probed: its effect is wherever its value is used. Of a module's constant the statements that
read it are (`tools.mutation.scan.constants`); for anything else every run counts.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from tools.mutation.scan.constants import statements_that_read
from tools.mutation.scan.counters import BOTH, BOTH_AS_TESTS, OPERANDS, REACHED, SEEN
from tools.mutation.scan.points import ScanMutant

_PURE: Final = (
    *(ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.Constant, ast.Name, ast.Attribute),
    *(ast.Subscript, ast.Slice, ast.Tuple, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop),
)
_PURE_CALLS: Final = ("len", "min", "max", "abs", "bool", "int")
_EXPLOSIVE: Final = (ast.Pow, ast.LShift)
"""Operators whose result may be larger than the memory; they are not tried on values that they were not written for."""

_Pair: TypeAlias = tuple[ast.AST, ast.AST]
_Wrap: TypeAlias = Callable[[Any], ast.expr]


def runs_at_import(source: str, mutant: ScanMutant) -> bool:
    """Whether the changed place runs when its module is imported, and not in a function."""
    return not _Probes().add(0, ast.parse(source), mutant.source)


def instrument(source: str, mutants: Iterable[tuple[int, ScanMutant]], reads: Iterable[tuple[int, str]] = ()) -> str:
    """Return a source with probes for numbered mutants of it, and for statements that read numbered constants."""
    tree = ast.parse(source)
    probes = _Probes()
    for number, mutant in mutants:
        probes.add(number, tree, mutant.source)
    for number, name in reads:
        for statement in statements_that_read(tree, name) or ():
            probes.add_statement(number, statement)
    return ast.unparse(ast.fix_missing_locations(probes.visit(tree)))


class _Probes(ast.NodeTransformer):
    """Puts the probes into a tree."""

    def __init__(self) -> None:
        self._statements: dict[int, list[int]] = {}
        self._expressions: dict[int, list[_Wrap]] = {}

    def add(self, number: int, tree: ast.AST, changed: str) -> bool:
        """Plan the probe of a mutant; False where the changed place runs at import."""
        pairs = _way_down(tree, ast.parse(changed))
        nodes = [node for node, _ in pairs]
        last = max(at for at, node in enumerate(nodes) if isinstance(node, ast.stmt | ast.Module))
        if not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes[:last]):
            return any(isinstance(node, ast.Lambda) for node in nodes) and self._add_expression(number, pairs, last)
        self._statements.setdefault(id(nodes[last]), []).append(number)
        return self._add_expression(number, pairs, last) or self.add_statement(number, nodes[last])

    def add_statement(self, number: int, statement: ast.AST) -> bool:
        """Plan the probe of a statement that makes a difference whenever it runs."""
        # Numbers below zero are those of differences; see `Counters`.
        self._statements.setdefault(id(statement), []).extend((number, -1 - number))
        return True

    def _add_expression(self, number: int, pairs: Sequence[_Pair], last: int) -> bool:
        inner = [at for at in range(last + 1, len(pairs)) if _can_be_wrapped(*pairs[at])]
        if not inner or inner[-1] < len(pairs) - 2:
            return False
        at = inner[-1]
        if not _is_pure(pairs[at]):
            wrap = _operands_of(number, *pairs[at]) or (lambda now: _call(SEEN, number, now))
        else:
            while at - 1 in inner and _is_pure(pairs[at - 1]):
                at -= 1
            name = BOTH_AS_TESTS if _is_test([node for node, _ in pairs], at) else BOTH
            other: Any = pairs[at][1]
            wrap = lambda now: _call(name, number, now, ast.Lambda(_no_arguments(), other))  # noqa: E731
        self._expressions.setdefault(id(pairs[at][0]), []).append(wrap)
        return True

    def visit(self, node: ast.AST) -> Any:  # noqa: ANN401 - one node becomes one, or several statements
        """Return a node with the probes of what is in it."""
        wraps, numbers = self._expressions.get(id(node), []), self._statements.get(id(node), [])
        made: Any = self.generic_visit(node)
        for wrap in wraps:
            made = wrap(made)
        return [*(_mark(number) for number in numbers), made] if numbers else made


def _way_down(first: ast.AST, second: ast.AST) -> list[_Pair]:
    """Return the pairs of nodes from the roots of two trees to the innermost one that holds all that differs.

    Nothing where the trees are equal.
    """
    if type(first) is not type(second):
        return [(first, second)]
    below: list[_Pair] = []
    for name in first._fields:
        left, right = getattr(first, name, None), getattr(second, name, None)
        lefts, rights = (left, right) if isinstance(left, list) and isinstance(right, list) else ([left], [right])
        if len(lefts) != len(rights):
            return [(first, second)]
        for one, other in zip(lefts, rights, strict=True):
            if not (isinstance(one, ast.AST) and isinstance(other, ast.AST)):
                is_same = one == other and type(one) is type(other)
            else:
                found = _way_down(one, other)
                is_same = not (found and below)
                below = below or found
            if not is_same:
                return [(first, second)]
    return [(first, second), *below] if below else []


def _can_be_wrapped(node: ast.AST, other: ast.AST) -> bool:
    """Whether a node is an expression that is evaluated for its value, in both forms."""
    is_value = isinstance(node, ast.expr) and not isinstance(node, ast.Starred | ast.Slice | ast.JoinedStr)
    return is_value and isinstance(other, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_pure(pair: _Pair) -> bool:
    """Whether both forms can be evaluated one after the other and do nothing else."""
    return all(_is_pure_node(node) for tree in pair for node in _below(tree)) and not any(
        isinstance(node, _EXPLOSIVE) for node in ast.walk(pair[1])
    )


def _below(tree: ast.AST) -> Iterable[ast.AST]:
    """Yield the nodes of a tree without the names of the calls that are allowed."""
    names = [id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return (node for node in ast.walk(tree) if id(node) not in names)


def _is_pure_node(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _PURE_CALLS and not node.keywords
    return isinstance(node, _PURE)


def _is_test(nodes: Sequence[ast.AST], at: int) -> bool:
    """Whether of an expression only its truth matters."""
    node, parent = nodes[at], nodes[at - 1]
    if isinstance(parent, ast.BoolOp):
        return _is_test(nodes, at - 1)
    is_negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    is_filter = isinstance(parent, ast.comprehension) and node in parent.ifs
    return is_negated or is_filter or getattr(parent, "test", None) is node


def _operands_of(number: int, node: ast.AST, other: ast.AST) -> _Wrap | None:
    """Return a probe that evaluates the operands once, where nothing but the operator between them differs.

    Where another mutant of the same operator has its probe around it already, being evaluated counts as a difference.
    """
    if isinstance(node, ast.Compare) and isinstance(other, ast.Compare) and len(node.ops) == len(other.ops) == 1:
        if ast.dump(node.left) != ast.dump(other.left) or ast.dump(node.comparators[0]) != ast.dump(
            other.comparators[0]
        ):
            return None
        forms = [ast.Compare(ast.Name("a"), each.ops, [ast.Name("b")]) for each in (node, other)]
        return lambda now: (
            _call(OPERANDS, number, *map(_binary, forms), now.left, now.comparators[0])
            if isinstance(now, ast.Compare)
            else _call(SEEN, number, now)
        )
    if isinstance(node, ast.BinOp) and isinstance(other, ast.BinOp) and not isinstance(other.op, _EXPLOSIVE):
        if ast.dump(node.left) != ast.dump(other.left) or ast.dump(node.right) != ast.dump(other.right):
            return None
        operations = [ast.BinOp(ast.Name("a"), each.op, ast.Name("b")) for each in (node, other)]
        return lambda now: (
            _call(OPERANDS, number, *map(_binary, operations), now.left, now.right)
            if isinstance(now, ast.BinOp)
            else _call(SEEN, number, now)
        )
    return None


def _binary(body: ast.expr) -> ast.Lambda:
    arguments = _no_arguments()
    arguments.args = [ast.arg("a"), ast.arg("b")]
    return ast.Lambda(arguments, body)


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _call(name: str, number: int, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name), [ast.Constant(number), *arguments], [])


def _mark(number: int) -> ast.stmt:
    (statement,) = ast.parse(f"{REACHED}({number})").body
    return statement
