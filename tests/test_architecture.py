"""Rules of the layout: imports point down, pure rooms stay pure, no tracked file names a registry."""

import ast
import re
import subprocess
from functools import cache
from graphlib import TopologicalSorter

import hypothesis
import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.layers import LAYERS
from tests.support.properties import SOAK
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.simplex.kind import SIMPLEX

IMPURE = ("time", "random", "datetime", "secrets", "uuid", "os", "socket", "threading", "asyncio")


# Each worker that has some of these tests reads all sources: begun first, they stay with one.
pytestmark = pytest.mark.long


def modules_of(package):
    return sorted((PROJECT_ROOT / package).rglob("*.py"))


@cache
def nodes_of(path):
    """Return all nodes of a file's syntax tree, outer ones first."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@cache
def imports_of(path):
    """Return the names of all modules that a file imports."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_down(package):
    """A package imports nothing from above it."""
    above = LAYERS[LAYERS.index(package) + 1 :]
    wrong = [
        (path.relative_to(PROJECT_ROOT), name)
        for path in modules_of(package)
        for name in imports_of(path)
        if name.split(".")[0] in above
    ]

    assert wrong == []


@pytest.mark.parametrize("package", [*LAYERS, "stampede_testbed"])
def test_nothing_of_the_product_imports_a_tool(package):
    """The wheel has none."""
    names = [(relative(path), name) for path in modules_of(package) for name in imports_of(path)]

    tools = ("tools", "stampede_mutants", "cosmic_ray")
    assert [(place, name) for place, name in names if name.split(".")[0] in tools] == []


def test_the_scheduler_imports_nothing_of_the_project():
    """It is the specification made executable."""
    names = {name.split(".")[0] for path in modules_of("scheduler") for name in imports_of(path)}

    assert not names & set(LAYERS[1:])
    assert "trio" not in names


def test_reports_are_drawn_from_plain_rows():
    """The package knows no class of another one; words beside numbers are everybody's."""
    names = {name for path in modules_of("report") for name in imports_of(path)} - {"network.words"}

    assert {name.split(".")[0] for name in names} & set(LAYERS) == {"report"}


def test_the_oracle_shares_nothing_with_what_it_judges():
    """A mistake would have to be made twice: only libraries, itself, and the form of a check's result."""
    allowed = {"checker.oracle", "checker.results"}
    project = {*LAYERS, "tests", "benchmarks", "run_cluster"}
    names = [name for path in modules_of("checker/oracle") for name in imports_of(path)]

    wrong = [
        name
        for name in names
        if name.split(".")[0] in project and name not in allowed and not name.startswith("checker.oracle.")
    ]
    assert wrong == []
    assert len(names) > 20


KNOWS_SIMPLEX = (
    "validators/consensus/simplex/",
    "validators/consensus/registry.py",
    "checker/checks/rules/simplex.py",
    "checker/checks/rules/undisturbed_views.py",
    "checker/coverage/engines.py",
    "checker/coverage/simplex_points.py",
    "checker/checks/rules/simplex_votes.py",
    "checker/mutants/",
    "checker/oracle/consensus/",
    "cluster/swarm/engines/simplex.py",
    "faults/byzantine/simplex.py",
    "faults/byzantine/simplex_chains.py",
    "faults/byzantine/simplex_votes.py",
    "faults/coverage/simplex.py",
    "faults/kinds/simplex_messages.py",
)
"""Modules that may know Simplex: its folder, the registry, and its rules, mutants, adversaries, phases and messages."""

KNOWS_HOTSTUFF = (
    "validators/consensus/hotstuff/",
    "validators/consensus/registry.py",
    "checker/checks/rules/hotstuff.py",
    "checker/coverage/engines.py",
    "checker/coverage/hotstuff_points.py",
    "checker/checks/rules/quorum_certificates.py",
    "checker/mutants/",
    "checker/oracle/consensus/",
    "cluster/swarm/engines/hotstuff.py",
    "cluster/swarm/sequences/hotstuff.py",
    "faults/byzantine/hotstuff",
    "faults/coverage/hotstuff.py",
)

KNOWS_LONGEST_CHAIN = (
    "validators/consensus/longest_chain/",
    "validators/consensus/registry.py",
    "checker/checks/rules/longest_chain.py",
    "checker/coverage/engines.py",
    "checker/coverage/longest_chain_points.py",
    "checker/mutants/",
    "checker/oracle/consensus/",
    "cluster/swarm/engines/longest_chain.py",
    "cluster/swarm/sequences/longest_chain.py",
    "faults/byzantine/longest_chain",
    "faults/coverage/longest_chain.py",
)

ENGINES_KNOWN = ((SIMPLEX, KNOWS_SIMPLEX), (HOTSTUFF, KNOWS_HOTSTUFF), (LONGEST_CHAIN, KNOWS_LONGEST_CHAIN))
"""Each engine with the modules that may know it."""


def places_beside(known):
    return [
        place
        for package in LAYERS
        for place in (path.relative_to(PROJECT_ROOT).as_posix() for path in modules_of(package))
        if not place.startswith(known)
    ]


@pytest.mark.parametrize(("engine", "known"), ENGINES_KNOWN, ids=lambda value: getattr(value, "name", ""))
def test_only_its_own_modules_import_an_engine(engine, known):
    """Validator, sync, snapshots, faults and runs ask the registry, so that another engine changes none of them."""
    wrong = [
        (place, name)
        for place in places_beside(known)
        for name in imports_of(PROJECT_ROOT / place)
        if name.startswith(f"validators.consensus.{engine.name.replace('-', '_')}")
    ]

    assert wrong == []


def test_a_validator_knows_its_state_machine_by_the_seam_alone():
    """Settings make the project's own; all others ask `ExecutionLayer`, whose types say what there is to ask."""
    own = {"Engine", "Executed", "BrokenOff", "BlockTree", "LayerTables"}
    wrong = [
        (relative(path), alias.name)
        for path in modules_of("validators")
        if not relative(path).startswith("validators/execution/") and relative(path) != "validators/settings.py"
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("validators.execution")
        for alias in node.names
        if alias.name in own or node.module in {"validators.execution.engine", "validators.execution.block_tree"}
    ]

    assert wrong == []


@pytest.mark.parametrize(("engine", "known"), ENGINES_KNOWN, ids=lambda value: getattr(value, "name", ""))
def test_only_its_own_modules_name_messages_of_an_engine(engine, known):
    """A name in a string is as much a knowledge of the engine as an import."""
    messages = [each.traced_name for each in engine.messages]
    # "finalize" is a validator's word too: it finalizes a block in any engine.
    words = {name.lower() for name in messages} - {"finalize"}
    names = {*messages, *words, engine.name}
    # A scenario names its engine, and has a section of its own for it.
    beside = places_beside((*known, "cluster/scenario/model.py", "cluster/scenario/rules.py"))
    wrong = [
        (place, node.value)
        for place in beside
        for node in nodes_of(PROJECT_ROOT / place)
        if isinstance(node, ast.Constant) and node.value in names
    ]

    assert wrong == []


@pytest.mark.parametrize("package", ["scheduler", "network", "validators", "faults"])
def test_nothing_in_a_run_reads_a_wall_clock_or_draws_chance(package):
    """No module of a run imports what could differ from run to run."""
    wrong = [
        (path.relative_to(PROJECT_ROOT), name)
        for path in modules_of(package)
        for name in imports_of(path)
        if name.split(".")[0] in IMPURE
    ]

    assert wrong == []


@pytest.mark.parametrize("package", ["scheduler", "validators", "faults", "checker/oracle"])
def test_consensus_critical_code_iterates_over_no_set_and_holds_no_float(package):
    """Sets have no order that input fixes; floats round."""
    wrong = []
    for path in modules_of(package):
        for node in nodes_of(path):
            is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
            is_division = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
            is_set_loop = isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Set | ast.SetComp)
            if is_float or is_division or is_set_loop:
                wrong.append((path.relative_to(PROJECT_ROOT), node.lineno if hasattr(node, "lineno") else 0))

    assert wrong == []


def test_no_tracked_file_names_a_registry_or_a_lock():
    """Requirement files pin by hash; where packages come from is the machine's business."""
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.fail("this test needs the repository's git metadata")
    registry = "pypi" + ".org"
    for name in listed.stdout.split():
        path = PROJECT_ROOT / name
        assert path.name not in {"uv.lock", "poetry.lock", "Pipfile.lock"}
        if path.suffix in {".txt", ".toml", ".in", ".py", ".sh", ".md"} or path.name == "Makefile":
            text = path.read_text()
            assert registry not in text, name
            assert "index-url" not in text or path.name == "test_architecture.py", name


def test_every_pinned_requirement_has_a_hash():
    """The packages installed are the ones that were measured."""
    for name in ("run.txt", "dev.txt", "dask.txt", "scan.txt", "parquet.txt"):
        text = (PROJECT_ROOT / "requirements" / name).read_text().replace("\\\n", " ")
        pins = [line for line in text.splitlines() if "==" in line]
        assert pins
        assert all("--hash=sha256:" in line for line in pins)


def test_the_packages_of_developers_have_those_of_a_run_among_them():
    """`make test` installs them alone."""
    run, dev = (
        set(re.findall(r"^[\w.-]+==[^ ]+", (PROJECT_ROOT / "requirements" / name).read_text(), flags=re.MULTILINE))
        for name in ("run.txt", "dev.txt")
    )

    assert run - dev == set()
    assert len(run) > 5


def test_property_tests_have_the_same_examples_each_time():
    """One profile for all: `tests.support.properties` alone says how Hypothesis draws."""
    with_their_own = [
        str(path.relative_to(PROJECT_ROOT))
        for path in modules_of("tests")
        if re.search(r"^from hypothesis import .*\bsettings\b", path.read_text(), flags=re.MULTILINE)
    ]

    assert with_their_own == ["tests/support/properties.py"]
    profile = hypothesis.settings.get_current_profile_name()
    assert profile == SOAK or hypothesis.settings().derandomize


def test_no_test_module_imports_another():
    """Helpers of several modules belong into tests/support."""
    imported = re.compile(
        r"^\s*(?:from tests\.[\w.]*test_\w+ import|from tests[\w.]* import .*\btest_|import tests\.[\w.]*test_)",
        re.MULTILINE,
    )
    wrong = [str(path.relative_to(PROJECT_ROOT)) for path in modules_of("tests") if imported.search(path.read_text())]

    assert wrong == []


# The house: names, sizes and imports. Each allowance names what is still to be mended; none may grow, all have to go.

FILES_PER_ROOM_MAX = 13
LINES_MAX = 400

LONG_ALLOWED = {f"checker/oracle/consensus/{engine}.py": 800 for engine in ("simplex", "hotstuff", "longest_chain")}
"""A specification is read as a whole, from the first rule to the last."""

NAMES_ALLOWED: set[str] = set()

READERS_OF_VALUES = {
    "cluster/exports/parquet.py",
    "cluster/exports/shiviz.py",
    "network/events.py",
    "checker/record/streams.py",
    "cluster/runtime/data_directory.py",
}
"""Files that show or copy events of any kind; all others read an event by its type."""


def relative(path):
    return path.relative_to(PROJECT_ROOT).as_posix()


def module_name(path):
    return relative(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def all_modules():
    return [path for package in LAYERS for path in modules_of(package)]


def import_graph():
    """Return by module the modules of the project that it names, those for type checking included."""
    known = {module_name(path): path for path in all_modules()}
    graph = {}
    for name, path in known.items():
        sources = [node for node in nodes_of(path) if isinstance(node, ast.ImportFrom) and node.module]
        named = [(node.module, f"{node.module}.{alias.name}") for node in sources for alias in node.names]
        found = {inner if inner in known else outer for outer, inner in named}
        graph[name] = {other for other in found if other in known}
    return graph


def test_no_file_imports_itself_by_way_of_others():
    """A circle raises CycleError, which names its files."""
    TopologicalSorter(import_graph()).prepare()


def test_rooms_of_the_cluster_stay_small():
    rooms = {room: len(list(room.glob("*.py"))) for room in (PROJECT_ROOT / "cluster").rglob("*") if room.is_dir()}
    wrong = {relative(room): count for room, count in rooms.items() if count > FILES_PER_ROOM_MAX}

    assert wrong == {}


def test_files_stay_short():
    wrong = {}
    for path in [*all_modules(), *modules_of("benchmarks"), *modules_of("tools")]:
        lines = path.read_text().count("\n")
        if lines > LONG_ALLOWED.get(relative(path), LINES_MAX):
            wrong[relative(path)] = lines

    assert wrong == {}


POSITIONAL_MAX = 4
FUNCTION_LINES_MAX = 50

POSITIONAL_ALLOWED = {
    "network/kernel.py: post": "called once per message: keywords would cost 10 % of it",
    "validators/actors/host.py: schedule_timer": "the signature of the specification",
    "validators/actors/script.py: schedule": "the fields of a step, in their order",
    "validators/actors/script.py: watch": "the fields of a step, in their order",
    "validators/actors/script.py: send": "the fields of a step, in their order",
}
"""Functions with more positional parameters, and why."""


@cache
def functions_of_the_product():
    """Return place and node of every function outside the tests."""
    paths = [*all_modules(), *modules_of("benchmarks"), *modules_of("stampede_testbed"), *modules_of("tools")]
    return [
        (f"{relative(path)}: {node.name}", node)
        for path in paths
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_functions_have_at_most_four_positional_parameters():
    """More are told apart by nothing but their order."""
    wrong = set()
    for place, node in functions_of_the_product():
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if len([name for name in names if name not in {"self", "cls"}]) > POSITIONAL_MAX:
            wrong.add(place)

    assert wrong == set(POSITIONAL_ALLOWED)


def test_functions_stay_short():
    lengths = {place: node.end_lineno - node.lineno + 1 for place, node in functions_of_the_product()}

    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


def test_a_public_class_name_is_unique_outside_the_oracle():
    """The oracle restates on purpose."""
    places = {}
    for path in all_modules():
        if not relative(path).startswith("checker/oracle/"):
            for node in nodes_of(path)[0].body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(relative(path))

    assert {name: where for name, where in places.items() if len(where) > 1 and name not in NAMES_ALLOWED} == {}


ASKING = re.compile(r'^ *"""\s*((?:What|Who|Whoever|Whose|How)\b.{0,40})', re.MULTILINE)


def openings_of(path):
    """Return the beginnings of docstrings in a file that ask for their noun, those of constants and fields included."""
    return [f"{relative(path)}: {text}" for text in ASKING.findall(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("room", [*LAYERS, "benchmarks", "stampede_testbed", "tests", "tools"])
def test_a_docstring_begins_with_the_thing_itself(room):
    """Not with What, Who, Whoever, Whose or How."""
    wrong = [opening for path in modules_of(room) for opening in openings_of(path)]

    assert wrong == []


def test_names_of_tests_are_under_70_characters():
    """The context of a test stands in its class or docstring."""
    names = [
        f"{relative(path)}: {node.name}"
        for path in modules_of("tests")
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]

    assert [name for name in names if len(name.partition(": ")[2]) >= 70] == []
    assert len(names) > 1_000


READERS_OF_VALUES_IN_TESTS = {
    "tests/network/test_bus.py",
    "tests/network/test_events.py",
    "tests/checker/record/test_record.py",
    "tests/test_architecture.py",
}
"""Tests of the codec, and of the order and bytes of a whole log."""


def test_events_are_read_by_their_types():
    """An index into an event's values would go on working, and be wrong, when a field comes to stand elsewhere."""
    wrong = [
        relative(path)
        for path in [*all_modules(), *modules_of("tests")]
        if relative(path) not in READERS_OF_VALUES | READERS_OF_VALUES_IN_TESTS
        and re.search(r"\bevents?(\[[^]]*\])?\.values\b(?!\()", path.read_text())
    ]

    assert wrong == []


def test_one_module_holds_the_path_of_the_project():
    wrong = [
        relative(path)
        for path in [*all_modules(), *modules_of("tests"), *modules_of("benchmarks"), *modules_of("tools")]
        if path.name != "root.py" and re.search(r"__file__\)[^\n]*parent", path.read_text())
    ]

    assert wrong == []


def file_of(module):
    """Return the file of a module of the project, None for a name that is no module, or not of the project."""
    stem = PROJECT_ROOT.joinpath(*module.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def files_imported(path):
    """Return the files of the project that a file imports: of `from package import module` the module."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            inner = [file_of(f"{node.module}.{alias.name}") for alias in node.names]
            found += [file_of(node.module)] if None in inner else inner
    return [
        each for each in [*found, *map(file_of, imports_of(path))] if each is not None and each.name != "__init__.py"
    ]


def test_nothing_that_the_audit_imports_leads_to_bus_or_injection():
    """Over any number of imports; what packages gather for others (`__init__`) is not gone through."""
    audit = PROJECT_ROOT / "checker/checks/audit"
    ways = {path: relative(path) for path in sorted(audit.glob("*.py"))}
    waiting = list(ways)
    while waiting:
        path = waiting.pop()
        for each in files_imported(path):
            if each not in ways:
                ways[each] = f"{ways[path]} > {relative(each)}"
                waiting.append(each)
    judged = ("network/bus", "network/port", "network/inbox", "network/conditions", "faults/injection/", "cluster/")

    assert [way for path, way in ways.items() if relative(path).startswith(judged)] == []
    assert len(ways) > 50


def test_the_audit_shares_only_tables_with_the_test_bed():
    """Neither bus, machines nor injection: a mistake would have to be made twice."""
    allowed = {
        *("network.quantiles", "network.regions", "network.events"),
        *("faults.events", "validators.events", "validators.messages"),
        *("checker.checks.check", "checker.checks.context", "checker.results"),
    }
    names = [name for path in modules_of("checker/checks/audit") for name in imports_of(path)]
    project = [name for name in names if name.split(".")[0] in LAYERS]

    wrong = [name for name in project if name not in allowed and not name.startswith("checker.checks.audit.")]
    assert wrong == []
    assert len(project) > 20


OPENS_ITSELF = {
    "checker/record/plain_files.py": "the one reader of files that are opened by name",
    "checker/record/fingerprint.py": "the sources of this program",
    "checker/record/plugins.py": "the sources of installed plug-ins",
    "checker/record/program.py": "the version of this program",
    "checker/record/locks.py": "a folder that this process has made",
    "cluster/authoring/pages.py": "the documents of this project",
    "cluster/campaign/results_db.py": "a results file, asked before SQLite opens it",
    "cluster/cli/standard_streams.py": "standard streams",
    "cluster/fixtures/compare.py": "a document of this project",
    "cluster/outside/new.py": "the examples of this project",
    "cluster/outside/system/measures.py": "what the system says of a process",
    "cluster/reference/records.py": "a document of this project",
    "cluster/runtime/directory_disk.py": "folders of a disk, to sync their names",
    "cluster/verdict/determinism.py": "files of a scratch folder of this process",
    "report/page/render.py": "the assets of pages",
    "stampede_testbed/_version.py": "the version of this program",
}
"""Modules that open files by other means than `checker.record.plain_files`, and which files those are."""

READING_METHODS = ("read_bytes", "read_text")
OPENING_FUNCTIONS = ("os.open", "os.fdopen", "io.open", "io.open_code", "sqlite3.connect", "tomllib.load", "mmap.mmap")


def opens_for_reading(call):
    """Return whether a call opens a file by its name to read it."""
    function, name = call.func, ast.unparse(call.func)
    modes = [
        each.value for each in [*call.args, *(given.value for given in call.keywords)] if isinstance(each, ast.Constant)
    ]
    modes = [mode for mode in modes if isinstance(mode, str) and re.fullmatch(r"[rwxab+t]{1,3}", mode)]
    if name == "open":
        return True
    if isinstance(function, ast.Attribute) and function.attr == "open" and modes:
        return "r" in modes[0] or "+" in modes[0]
    return name in OPENING_FUNCTIONS or (isinstance(function, ast.Attribute) and function.attr in READING_METHODS)


def opening_calls(nodes):
    return [node for node in nodes if isinstance(node, ast.Call) and opens_for_reading(node)]


def test_files_are_opened_by_the_reader_that_asks_their_kind_and_size():
    """A pipe in place of a file hangs any other reader, and a sparse file fills its memory."""
    found = {
        path.relative_to(PROJECT_ROOT).as_posix()
        for package in (*LAYERS, "stampede_testbed")
        for path in modules_of(package)
        if opening_calls(nodes_of(path))
    }

    assert sorted(found) == sorted(OPENS_ITSELF)


@pytest.mark.parametrize(
    "call",
    [
        "open(path)",
        "path.open('rb')",
        "path.open(mode='r')",
        "path.open('r+b')",
        "Path(name).read_text()",
        "path.read_bytes()",
        "os.open(path, os.O_RDONLY)",
        "sqlite3.connect(path)",
    ],
)
def test_every_way_to_open_a_file_is_seen(call):
    assert opening_calls(ast.walk(ast.parse(call)))
