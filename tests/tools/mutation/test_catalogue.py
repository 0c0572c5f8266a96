"""Mutants: each swaps what is there, is taken out again, and is killed by a check that it names."""

import inspect
from types import FunctionType

import msgspec
import pytest

from checker.checks import CHECKS, fallible
from checker.families import FAMILY_OF
from checker.mutants.mutant import MissingTargetError, mutant, name_of, original, validator_with
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.swarm.generator import draw_scenario
from scheduler.policies import fifo
from stampede_mutants.consensus import AHEAD
from tests.frozen import measure, read_frozen
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of, rest_in_soak, third_of
from tests.support.mutation import WITH_CATALOGUE
from tools.mutation.campaign import TO_THE_END, campaign_scenario
from tools.mutation.catalogue import CATALOGUE, MUTANTS

VARIABLE = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_mutant_replaces_something_and_puts_it_back(name):
    """A part of the code that was renamed leaves no mutant behind that does nothing."""
    swaps = CATALOGUE[name].swaps()
    before = [original(owner, attribute) for owner, attribute, _ in swaps]

    with validator_with([CATALOGUE[name]]).around():
        during = [original(owner, attribute) for owner, attribute, _ in swaps]
    after = [original(owner, attribute) for owner, attribute, _ in swaps]

    assert swaps
    assert all(one is not other for one, other in zip(before, during, strict=True))
    assert all(one is other for one, other in zip(before, after, strict=True))


def calls_of(target):
    """Yield the shortest and the longest call that a function or class takes: arguments by place, and by name."""
    parameters = [each for each in inspect.signature(target).parameters.values() if each.kind not in VARIABLE]
    for some in ([each for each in parameters if each.default is each.empty], parameters):
        by_name = {each.name: None for each in some if each.kind is each.KEYWORD_ONLY}
        yield [each.name for each in some if each.name not in by_name], by_name


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_mutant_takes_what_its_original_takes(name):
    """One that fails over its arguments is killed as a crash, and its own mistake is never tried."""
    for owner, attribute, replacement in CATALOGUE[name].swaps():
        replaced = original(owner, attribute)
        if isinstance(replacement, FunctionType) and isinstance(replaced, FunctionType | type):
            for by_place, by_name in calls_of(replaced):
                inspect.signature(replacement).bind(*by_place, **by_name)


def test_a_mutant_of_something_that_is_gone_cannot_even_be_listed():
    """Survived would be said of it, and nothing would have been tried."""
    with pytest.raises(MissingTargetError, match="has no 'no_such_attribute' of its own"):
        mutant((fifo, "no_such_attribute"), area="scheduler", kills=("oracle",))


def test_an_attribute_that_is_only_inherited_cannot_be_replaced():
    """Taken out again, the replacement would stay behind in the class."""
    with pytest.raises(MissingTargetError):
        mutant((type("Heir", (dict,), {}), "items"), area="state", kills=("oracle",))


class TestDecorator:
    """One decorated function is a mutant."""

    def test_name_and_docstring_are_the_mutants(self):
        @mutant((fifo, "classify"), area="scheduler", kills=("oracle", "supply"))
        def takes_nothing(_classify):
            """No timer ever fires."""
            return lambda *_given, **_named: ()

        reported = (takes_nothing.name, takes_nothing.description, takes_nothing.kills)
        assert reported == ("takes-nothing", "No timer ever fires.", ("oracle", "supply"))

    def test_several_targets_have_as_many_replacements(self):
        @mutant((fifo, "classify"), (fifo, "Fifo"), area="scheduler", kills=("oracle",))
        def too_few(classify, _fifo):
            """One replacement is missing."""
            return (classify,)

        with pytest.raises(ValueError, match="zip"):
            too_few.swaps()


def test_two_validators_share_no_swap():
    """The memory of a mutant belongs to one validator."""
    for each in MUTANTS:
        pairs = zip(each.swaps(), each.swaps(), strict=True)
        shared = [one[1] for one, other in pairs if one[2] is other[2] and callable(one[2])]
        assert shared == [], each.name


def test_the_catalogue_stays_small_and_its_names_are_unique():
    """A mutant that the same checks see in the same words as another one adds nothing."""
    assert 70 <= len(CATALOGUE) == len(MUTANTS) <= 110
    assert all(each.description and len(each.description) < 110 for each in MUTANTS)


def test_every_check_that_a_mutant_names_exists():
    known = [*fallible(CHECKS), "determinism", "faults-effective"]

    assert [each.name for each in MUTANTS if not each.kills] == []
    assert [name for each in MUTANTS for name in each.kills if name not in known] == []


def test_a_mutant_of_an_engine_is_named_by_a_check_of_consensus():
    """Views that are kept too long show in no answer of an engine: the family `memory` compares their number."""
    targets = {each.name: [name_of(*target) for target in each.targets] for each in MUTANTS}
    engines = [
        each for each in MUTANTS if all(place.startswith("validators.consensus.") for place in targets[each.name])
    ]
    seen = {"agreement", "consensus", "durability"}

    assert len(engines) > 15
    assert [each.name for each in engines if not {FAMILY_OF[check] for check in each.kills} & seen] == [
        "rounds-are-never-dropped"
    ]


@pytest.mark.parametrize("name", third_of(CATALOGUE))
def test_every_mutant_makes_a_sound_campaign(name):
    """The settings that a mutant needs are valid beside a seed's draws, and stand in the scenario that is run."""
    scenario = campaign_scenario(CATALOGUE[name], 1)

    holders = scenario.mutants[name]
    assert len(holders) == (scenario.cluster.validators if CATALOGUE[name].on_all else 1)
    assert scenario.run == draw_scenario(1, [*CATALOGUE[name].needs, TO_THE_END]).run


def test_a_scenario_names_mutants_and_their_validators():
    scenario = load_scenario("calm", ["mutants.tip-burned=[0, 3]"])

    assert scenario.mutants == {"tip-burned": (0, 3)}


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (
            "mutants.tip-burnt=[0]",
            "mutants.tip-burnt: is no known bug (did you mean tip-burned?); they are expiry-a-slot-late, ",
        ),
        ("mutants.tip-burned=[4]", "mutants.tip-burned: this cluster has replicas 0 to 3"),
        ('mutants.tip-burned="all"', "mutants"),
    ],
)
def test_what_is_no_mutant_is_refused_with_what_is_allowed(setting, reason):
    with pytest.raises(ScenarioError, match=r"mutants") as refusal:
        load_scenario("calm", [setting])

    assert reason in str(refusal.value)


KILLED = {
    "tie-break-by-identifier": "timer-delivery",
    "refund-forgotten": "supply",
    "tip-burned": "oracle",
    "created-keys-as-written": "equal-roots",
    "certificate-below-quorum": "certificates",
    "leader-for-two-views": "leaders",
    "offers-not-all": "inclusion",
    "removed-timers-wait-on": "agreement",
    "record-before-the-write": "live-values",
    "acts-before-the-sync": "write-ahead",
    "good-votes-refused": "refusals",
    "room-is-never-given-back": "derived",
    "gossip-is-sent-on-by-all": "traffic",
    "gossip-goes-to-one-peer": "spread",
    "ancestors-are-not-served": "final-disks",
}
"""Variants that show in a short calm run, and the check that has to find each."""


@pytest.mark.parametrize("name", first_of(KILLED))
def test_a_mutant_is_killed_by_a_check_that_names_what_is_wrong(name):
    holders = [0, 1, 2, 3] if CATALOGUE[name].on_all else [1]
    result = result_of(
        "calm", WITH_CATALOGUE, f"mutants.{name}={holders}", "run.until_height=5", "run.time_limit_ms=15_000"
    )

    failed = [check.name for check in result.checks if check.status == "failed"]
    assert KILLED[name] in failed
    assert KILLED[name] in CATALOGUE[name].kills


SCARCE = (
    *("storm", "reorg", "oracle/differential", "expected-limits"),
    *("told-timers", "application", "application-lives"),
)
"""Checks that ask for an expectation or an outside application, or look at no validator of the run."""

ALWAYS = (*(name for name in fallible(CHECKS) if name not in SCARCE), "faults-effective", "determinism")
"""Every other check that can fail."""


def test_every_check_is_named_first_by_a_mutant():
    """A check that no mutant shows could as well be left out."""
    first = [each.kills[0] for each in MUTANTS]

    assert [name for name in ALWAYS if name not in first] == []


SHORT = ("run.until_height=5", "run.time_limit_ms=40_000")
FIRST = {
    "writes-told-without-burns": ("write-sets", "calm", SHORT),
    "last-fire-uncounted": ("budgets", "calm", SHORT),
    "mailbox-budget-doubled": ("message-delivery", "mailbox-mix", ()),
    "inactive-peak-forgotten-by-all": ("operation-log", "calm", ("run.until_height=4",)),
    "pruned-chunks-stay": ("bitmap", "calm", ()),
    "heights-without-timers-stay": ("indexes", "calm", SHORT),
    "proof-of-the-operation-before": ("proofs", "calm", SHORT),
    "created-keys-backwards": ("cold-replay", "calm", SHORT),
    "notarizations-journalled-twice": ("journals", "calm", SHORT),
    "wall-clock-never-asked": ("faults-effective", "calm", (AHEAD, "run.until_height=5")),
}
"""For each of ten checks a mutant that no other check finds before it, and a run that shows it."""


@pytest.mark.parametrize("name", first_of(FIRST))
def test_a_mutant_is_found_by_its_check_before_all_others(name):
    """The first check of the verdict that does not pass is the one whose matter it is."""
    check, scenario, settings = FIRST[name]
    holders = [0, 1, 2, 3] if CATALOGUE[name].on_all else [1]
    result = result_of(scenario, *settings, WITH_CATALOGUE, f"mutants.{name}={holders}")

    assert [each.name for each in result.checks if each.status != "passed"][:1] == [check]
    assert CATALOGUE[name].kills[0] == check


FROZEN = read_frozen()
BY_SHORT_RUNS = (*KILLED.values(), *(check for check, _, _ in FIRST.values()))
"""Checks that fail in the short runs above."""


def chosen():
    """Return mutants whose campaigns show a check that no short run above shows, in their order."""
    shown = {*BY_SHORT_RUNS}
    for each in MUTANTS:
        check = FROZEN[f"mutant-{each.name}"].check
        if check not in shown:
            shown.add(check)
            yield each.name


CHOSEN = [*chosen()]


def test_the_chosen_mutants_are_few_and_of_each_check():
    tried = {*BY_SHORT_RUNS, *(FROZEN[f"mutant-{name}"].check for name in CHOSEN)}

    assert len(CHOSEN) <= 30
    assert [each.name for each in MUTANTS if FROZEN[f"mutant-{each.name}"].check not in tried] == []


@pytest.mark.long
@pytest.mark.parametrize("name", rest_in_soak(CATALOGUE, CHOSEN[::3]))
def test_a_mutant_is_killed_as_in_the_frozen_campaign(name):
    """The run that killed it, once more: the same check of those that it names is the first that fails."""
    row = f"mutant-{name}"

    assert measure(row, FROZEN[row].seed) == FROZEN[row]


def test_a_mutant_stands_in_the_recorded_scenario_alone():
    """The same run without it passes, in the same process, right after."""
    settings = ("run.until_height=4", "run.time_limit_ms=15_000")
    mutated = result_of("calm", WITH_CATALOGUE, "mutants.refund-forgotten=[0, 1, 2, 3]", *settings)
    clean = result_of("calm", *settings)

    assert (mutated.exit_code, clean.exit_code) == (1, 0)
    assert msgspec.to_builtins(clean.scenario)["mutants"] == {}


def test_a_mutant_keeps_its_replica_mode():
    """The mutant's error shows only in the replica mode that the scenario gives it."""
    cluster = Cluster(load_scenario("calm", ["mutants.tip-burned=[1]", 'validators.1.apply="certified"']), 0)

    assert cluster.factories[1].layer.keywords["apply_mode"].apply == "certified"
    assert cluster.factories[1].around is not cluster.factories[0].around
