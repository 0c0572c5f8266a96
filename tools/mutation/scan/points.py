"""Mutation points: the places of the sources that the operators of a mutation library can change.

The library is cosmic-ray, of which only the operators are used (docs/dependencies.md). Left out are operators that take
arguments, and RemoveDecorator: a class without `@dataclass` or `@property` does not get as far as a run. So are places
that no run evaluates, or that matter only where there is another mistake: annotations, the options of classes
(`frozen`, `slots`, `gc`), `strict` of `zip`, and which arguments may be given by position or by name. So is what only
counts the cells of a rule that were reached, which a campaign judges and no run.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from checker.record.errors import ReportedError
from checker.record.program import install_command
from checker.record.root import PROJECT_ROOT
from faults.nearest import did_you_mean

PACKAGES: Final = ("scheduler", "validators", "faults", "network")
"""Packages whose sources are mutated."""

LEFT_OUT: Final = ("RemoveDecorator", "VariableReplacer", "VariableInserter")

_QUIET_LEAVES: Final = ("name", "string", "newline", "endmarker", "fstring_start", "fstring_string", "fstring_end")
"""Leaves of the library's trees that no operator changes."""


_MARKS: Final = (*tuple("()[]{}:,.;=@"), "->", ":=")
"""Marks that no operator changes."""


class MissingLibraryError(ReportedError):
    """The mutation library is not installed."""

    exit_code: ClassVar[int] = 6


class UnknownOperatorError(ReportedError):
    """A kind of operator that the library does not have."""


class MutationPoint(NamedTuple):
    """One place that one operator can change.

    Attributes:
        file: The source, relative to the project.
        function: The qualified name of the innermost function or class that it stands in; empty at module level.
        operator: The operator's name in the library.
        occurrence: The place's number among those of this operator in this file.
        line: The line, from 1.
        column: The column, from 0.
    """

    file: str
    function: str
    operator: str
    occurrence: int
    line: int
    column: int

    @property
    def room(self) -> str:
        """The room of the source: a package, or a folder of `validators`."""
        first, *others = Path(self.file).parts
        return f"{first}/{others[0]}" if first == "validators" and len(others) > 1 else first

    @property
    def family(self) -> str:
        """The operator without what it replaces by what."""
        return self.operator.partition("_")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanMutant:
    """A mutation point with the source that the operator makes.

    Attributes:
        point: The place.
        source: The whole changed source.
        before: The lines that differ, as they are.
        after: The same lines, changed.
    """

    point: MutationPoint
    source: str
    before: str
    after: str


class MutationLibrary:
    """The operators of the library.

    Raises:
        MissingLibraryError: It is not installed.
    """

    def __init__(self) -> None:
        try:
            trees: Any = import_module("cosmic_ray.ast")
            provider: Any = import_module("cosmic_ray.operators.provider").OperatorProvider()
            self._mutate: Callable[[str, Any, int], str | None] = import_module("cosmic_ray.mutating").mutate_code
        except ImportError as error:
            raise MissingLibraryError(
                f"the mutation library is not installed ({error.name}): {install_command('scan')}"
            ) from None
        self._parse, self._nodes = trees.get_ast, trees.ast_nodes
        self._operators: Final[Mapping[str, Any]] = {
            name: provider[name]() for name in provider if name not in LEFT_OUT
        }

    @property
    def families(self) -> tuple[str, ...]:
        """The operators without what they replace by what, in the library's order."""
        return tuple(dict.fromkeys(name.partition("_")[0] for name in self._operators))

    def require_families(self, names: Iterable[str]) -> None:
        """Raise UnknownOperatorError unless all these are kinds of operators."""
        for name in names:
            if name not in self.families:
                hint = did_you_mean(name, self.families)
                raise UnknownOperatorError(f"--operators: {name!r}{hint} is none of {', '.join(self.families)}")

    def points_of(self, file: str, source: str) -> list[MutationPoint]:
        """Return every place of a source that an operator can change, in the order of the source."""
        outline = _Outline(source)
        counts = dict.fromkeys(self._operators, 0)
        found: list[MutationPoint] = []
        for node in self._nodes(self._parse(source)):
            if node.type in _QUIET_LEAVES or getattr(node, "value", "") in _MARKS:
                continue
            for name, operator in self._operators.items():
                for (line, column), _ in operator.mutation_positions(node):
                    occurrence = counts[name]
                    counts[name] += 1
                    if not outline.is_left_out(line, column):
                        function = outline.function_at(line)
                        found.append(MutationPoint(file, function, name, occurrence, line, column))
        return found

    def mutant_at(self, point: MutationPoint, source: str) -> ScanMutant | None:
        """Return the mutant of a point; None where the change makes no other program, or none that compiles."""
        try:
            changed = self._mutate(source, self._operators[point.operator], point.occurrence)
        except AttributeError:
            # The library replaces exceptions by plain names only, and finds those with dots as well.
            return None
        if changed is None:
            return None
        try:
            is_same = _dump(changed) == _dump(source)
            compile(changed, point.file, "exec", dont_inherit=True)
        except SyntaxError:
            return None
        if is_same:
            return None
        before, after = _differing_lines(source, changed)
        return ScanMutant(point=point, source=changed, before=before, after=after)


def source_files(packages: Collection[str] = PACKAGES) -> list[str]:
    """Return the sources of packages, relative to the project, by name."""
    paths = [path for package in packages for path in (PROJECT_ROOT / package).rglob("*.py")]
    return sorted(path.relative_to(PROJECT_ROOT).as_posix() for path in paths)


def read_source(file: str) -> str:
    """Return a source of the project."""
    return (PROJECT_ROOT / file).read_text(encoding="utf-8")


def _dump(source: str) -> str:
    """Return the tree of a source in words, without the way in which arguments may be given."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults = [*node.defaults, *filter(None, node.kw_defaults)]
            node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
    return ast.dump(tree)


def _differing_lines(before: str, after: str) -> tuple[str, str]:
    """Return the lines from the first to the last that differ, each side on one line."""
    first, second = before.splitlines(), after.splitlines()
    top = next((at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), 0)
    low = 0
    while low < min(len(first), len(second)) - top - 1 and first[-1 - low] == second[-1 - low]:
        low += 1
    return _joined(first[top : len(first) - low]), _joined(second[top : len(second) - low])


def _joined(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


class _Outline:
    """The functions of a source by line, and the places that are left out."""

    def __init__(self, source: str) -> None:
        self._spans: list[tuple[int, int, str]] = []
        self._left_out: list[tuple[tuple[int, int], tuple[int, int]]] = []
        tree = ast.parse(source)
        self._add_functions(tree, "")
        for node in ast.walk(tree):
            for part in _not_evaluated(node):
                start = (part.lineno, part.col_offset)
                self._left_out.append((start, (part.end_lineno or part.lineno, part.end_col_offset or 0)))

    def function_at(self, line: int) -> str:
        """Return the qualified name of the innermost function or class at a line."""
        return next((name for first, last, name in reversed(self._spans) if first <= line <= last), "")

    def is_left_out(self, line: int, column: int) -> bool:
        """Whether a place is left out."""
        return any(start <= (line, column) < end for start, end in self._left_out)

    def _add_functions(self, node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}" if outer else child.name
                self._spans.append((child.lineno, child.end_lineno or child.lineno, name))
                self._add_functions(child, name)
            else:
                self._add_functions(child, outer)


def _not_evaluated(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield of a node annotations, types, how a class is made, `strict` of `zip`, and what counts cells."""
    if isinstance(node, ast.AnnAssign):
        yield node.annotation
        if isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias":
            yield node
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
        yield from (keyword.value for keyword in node.keywords)
    elif isinstance(node, ast.Expr) and _counts_a_cell(node):
        yield node
    elif isinstance(node, ast.If) and not node.orelse and all(map(_counts_a_cell, node.body)):
        yield node.test
    elif isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords))
    elif isinstance(node, ast.arg) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns


def _counts_a_cell(statement: ast.stmt) -> bool:
    """Whether a statement is a call like `reach(DiskRule.TORN_TAIL)`."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    call = statement.value
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    tables = (node.id for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Name))
    return name in {"reach", "_reach"} and any(table.endswith("Rule") for table in tables)
