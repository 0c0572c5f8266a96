"""Constants: a mutant of a module's constant can differ only in runs that execute a statement that reads it."""

import ast
from collections.abc import Iterator, Mapping

from checker.record.fingerprint import PACKAGES as ALL_PACKAGES
from tools.mutation.scan.points import PACKAGES, ScanMutant, read_source, source_files


def read_sources() -> dict[str, str]:
    """Return all sources of the project, by file: a constant may be read by those that are not mutated, too."""
    return {file: read_source(file) for file in source_files(ALL_PACKAGES)}


def readers_of(mutant: ScanMutant, sources: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the constant that a mutant changes and the sources in which functions read it, as `(name, *files)`.

    None where it changes something else, or where the constant is read at import or in a source that is not mutated:
    then any run may differ.
    """
    name = _constant_at(ast.parse(sources[mutant.point.file]), mutant.point.line)
    if not name:
        return None
    files = []
    for file, source in sources.items():
        if name in source:
            found = statements_that_read(ast.parse(source), name)
            if found is None or (found and file.split("/")[0] not in PACKAGES):
                return None
            files += [file] * bool(found)
    return (name, *files)


def statements_that_read(tree: ast.Module, name: str) -> list[ast.stmt] | None:
    """Return the statements in functions that read a name, as such or as an attribute; None if any other does."""
    found: list[ast.stmt] = []
    for node, statement in _with_statements(tree, None):
        if isinstance(node, ast.ImportFrom) and any(each.name == name and each.asname for each in node.names):
            return None
        reads = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if reads or (isinstance(node, ast.Attribute) and node.attr == name):
            if statement is None:
                return None
            found.append(statement)
    return list({id(statement): statement for statement in found}.values())


def _constant_at(tree: ast.Module, line: int) -> str:
    """Return the name that a statement of the module at a line binds; empty where that is not one name."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= line <= (node.end_lineno or line):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
    return ""


def _with_statements(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[ast.AST, ast.stmt | None]]:
    """Yield the nodes below one, each with the innermost statement that holds it; None for those that run at import."""
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    body = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    for child in ast.iter_child_nodes(node):
        is_inside = (is_function and child in body) or statement is not None
        inner = child if is_inside and isinstance(child, ast.stmt) else statement
        yield child, inner
        yield from _with_statements(child, inner)
