"""Modules of tests draw and run nothing while they are collected: each process of a test run collects all of them."""

import ast

import pytest

from checker.record.root import PROJECT_ROOT

COSTLY = {"applied_blocks", "draw_once", "draw_scenario", "judge", "judge_in_process", "result_of", "run_task", "sweep"}


def called_at_import(node):
    """Yield the names of functions that are called outside the bodies of functions, decorators included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in child.decorator_list:
                yield from called_at_import(ast.Expr(decorator))
        elif not isinstance(child, ast.Lambda):
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
                yield child.func.id
            yield from called_at_import(child)


def test_no_module_of_tests_draws_or_runs_when_it_is_imported():
    modules = sorted((PROJECT_ROOT / "tests").rglob("*.py"))
    found = {
        str(path.relative_to(PROJECT_ROOT)): sorted(costly)
        for path in modules
        if (costly := COSTLY.intersection(called_at_import(ast.parse(path.read_text(encoding="utf-8")))))
    }

    assert found == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("DRAWN = [draw_scenario(seed) for seed in SEEDS]", ["draw_scenario"]),
        ("@parametrize('run', [result_of('calm')])\ndef test(run): judge(run)", ["parametrize", "result_of"]),
        ("LATER = lambda: judge()\nclass Test:\n    def test(self): judge()\n", []),
    ],
)
def test_what_is_called_at_import_is_told_from_what_is_called_later(text, names):
    assert [*called_at_import(ast.parse(text))] == names
