"""The workload of scripts: actors are told what the scenario file states, and what it cannot mean is refused."""

import msgspec
import pytest

from checker.record.run_directory import RecordReader
from cluster.scenario.load import SCENARIO_DIRECTORY, convert_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.toml_file import read_toml
from cluster.workloads.planned import sites_of, transactions_of
from cluster.workloads.steps import AnyStep
from scheduler import TimerCancelled, TimerFired, TimerScheduled
from tests.support.cluster_runs import check_named, judge, judge_in_process
from validators.actors import Emitted, FeeTerms
from validators.actors.script import Script, Step
from validators.execution import decode_receipt
from validators.execution.blocks import address_of, decode_block, decode_transaction
from validators.execution.receipts import TransactionReceipt

FAIL = {"do": "fail", "reason": "no"}
CANCEL = {"do": "cancel", "name": "t"}


def entry(*steps, **changes):
    return {"at_ms": 1_500, "actor": "desk", "steps": list(steps), **changes}


def timer(name, delay_slots=2, **changes):
    return {"do": "schedule", "name": name, "delay_slots": delay_slots, "gas_limit": 5_000, **changes}


def script(*steps, **changes):
    return {"steps": list(steps), **changes}


def convert(*entries, changes=None, **tables):
    workload = {"kind": "scripts", "actors": {"desk": 10**14, "poor": 5}, "at": list(entries), **(changes or {})}
    pulse = {"kind": "heartbeats", "actors": 2}
    raw = {"name": "told", "title": "", "workload": {"pulse": pulse, "desk": workload}, "run": {"until_height": 8}}
    return convert_scenario({**raw, **tables}, "told.toml")


def refusal(*entries, **changes):
    with pytest.raises(ScenarioError) as refused:
        convert(*entries, **changes)
    return str(refused.value).removeprefix("told.toml: ")


def told(scenario, index=0):
    """The script of a transaction, as the actor decodes it."""
    found = [timed for timed in transactions_of(scenario) if timed.workload == "desk"]
    return msgspec.msgpack.decode(decode_transaction(found[index].encoded).call.payload, type=Script)


def plain(step):
    """A step as its name and the values that follow it."""
    return type(step).__name__, *msgspec.structs.astuple(step)


def desk_of(scenario):
    """The workload of scripts with its site."""
    (found,) = [(site, workload) for site, workload in sites_of(scenario) if site.name == "desk"]
    return found


@pytest.fixture(scope="module")
def addresses():
    site, workload = desk_of(convert(entry(FAIL)))
    names = workload.names(site)
    return {name: names.address(name) for name in ("desk", "poor", "owner", "pulse/1")}


TERMS = {"max_fee": 5, "tip": 4, "tier": "fast", "agent": "poor", "bid": 3}
COMMON = {"name": "t", "payload": "0x00ff", "fee_payer": "owner", "gas_limit": 7, "ttl_slots": 9, **TERMS}


def test_every_step_of_the_script_actor_can_be_stated():
    assert {kind.__struct_config__.tag for kind in AnyStep.__args__} == {
        kind.__struct_config__.tag for kind in Step.__subclasses__()
    }


def test_each_key_of_each_step_reaches_the_actor(addresses):
    desk, poor, owner, beat = (addresses[name] for name in ("desk", "poor", "owner", "pulse/1"))
    terms = FeeTerms(5, 4, "fast", poor, 3)
    cases = [
        ({"do": "put", "key": "k", "value": "0x"}, ("put", b"k", b"")),
        ({"do": "copy", "source": "k", "target": "l", "skip": 3}, ("copy", b"k", b"l", 3)),
        ({"do": "delete", "key": "k"}, ("delete", b"k")),
        ({"do": "read", "key": "k", "address": "poor"}, ("read", b"k", poor)),
        ({"do": "weigh", "key": "w", "address": "pulse/1"}, ("weigh", b"w", beat)),
        ({"do": "weigh", "key": "w"}, ("weigh", b"w", None)),
        ({"do": "pay", "to": "0x0102", "amount": -1}, ("pay", b"\x01\x02", -1)),
        ({"do": "tell", "topic": "é", "data": "é"}, ("tell", "é", "é".encode())),
        (
            {"do": "schedule", "delay_slots": 2, "pass_signer": False, **COMMON},
            ("schedule", b"t", 2, b"\x00\xff", owner, 7, 9, terms, False),
        ),
        (
            {"do": "watch", "watched": [{"address": "desk", "key": "k"}, {"address": "owner"}], **COMMON},
            ("watch", b"t", ((desk, b"k"), (owner, None)), b"\x00\xff", owner, 7, 9, terms),
        ),
        ({"do": "extend", "name": "t", "delay_slots": -1}, ("extend", b"t", -1)),
        ({"do": "cancel", "name": "0x0a"}, ("cancel", b"\n")),
        ({"do": "send", "to": "poor", "handler": "note", "payload": "p", "cycles": 9}, ("send", poor, "note", b"p", 9)),
        ({"do": "hand", "name": "t", "to": "poor", "cycles": 9}, ("hand", b"t", poor, 9)),
        ({"do": "compute", "cycles": 9}, ("compute", 9)),
        (FAIL, ("fail", "no")),
    ]

    steps = told(convert(entry(*(step for step, _ in cases)))).steps

    assert [*map(plain, steps)] == [*(it for _, it in cases), ("tell", "done", b"at[0]")]


@pytest.mark.parametrize(("word", "patience"), [("revert", 0), ("tell", 1), ("ignore", 2)])
def test_what_follows_a_refusal_is_stated_for_each_script(word, patience):
    outer = told(convert(entry(timer("t", payload=script(FAIL)), on_refusal=word)))
    inner = told(convert(entry(timer("t", payload=script(FAIL, on_refusal=word)))))

    assert (outer.patience, inner.patience) == (patience, 0)
    assert [msgspec.msgpack.decode(it.steps[0].payload, type=Script).patience for it in (outer, inner)] == [0, patience]


def test_a_payload_may_name_a_handler():
    (step, _) = told(convert(entry(timer("t", payload="abc", handler="note")))).steps

    assert step.payload == b'{"_handler":"note","_payload":"YWJj"}'


def test_a_sender_its_limits_and_its_fees_are_those_of_the_entry():
    scenario = convert(
        entry(FAIL, sender="other", cycles_limit=9_000, cells_limit=8_000, max_fee=7_000, tip=6),
        changes={"accounts": {"owner": 1, "other": 10**14}},
    )
    (timed,) = [timed for timed in transactions_of(scenario) if timed.workload == "desk"]
    sent = decode_transaction(timed.encoded)
    site, workload = desk_of(scenario)
    share = workload.genesis(site)

    assert (sent.cycles_limit, sent.cells_limit) == (9_000, 8_000)
    assert (sent.max_fee_per_cycle, sent.max_fee_per_cell) == (7_000, 7_000)
    assert sent.priority_fee_per_cycle == 6
    assert [account.balance for account in share.accounts] == [1, 10**14]
    assert address_of(sent.public_key) == share.accounts[1].address
    assert [(actor.owner, actor.balance) for actor in share.actors] == [
        (share.accounts[0].address, it) for it in (10**14, 5)
    ]


UNREADABLE = {
    "an unknown step": ({"do": "cancle"}, ".do: Invalid value 'cancle' (did you mean cancel?); it can be cancel or"),
    "no step": ({"name": "t"}, ": Object missing required field `do`"),
    "an unknown key": (
        {"do": "cancel", "nam": "t"},
        ": Object contains unknown field `nam` (did you mean name?); the keys are do, name",
    ),
    "an unknown step in a payload": (
        timer("t", payload=script({"do": "x"})),
        ".payload.steps[0].do: Invalid value 'x'; it can be cancel or compute",
    ),
    "an unknown word": (
        timer("t", payload=script(FAIL, on_refusal="go")),
        ".payload.on_refusal: Invalid enum value 'go'; it can be revert or tell or ignore",
    ),
    "a number for bytes": (timer("t", payload=5), ".payload: Expected `str | object`, got `int`"),
    "an unknown tier": (timer("t", tier="fats"), ".tier: Invalid enum value 'fats' (did you mean fast?); it can be"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_step_that_cannot_be_read_is_refused_with_its_place(what):
    step, reason = UNREADABLE[what]

    assert refusal(entry(FAIL, step)).startswith(f"workload.desk.at[0].steps[1]{reason}")


MEANINGLESS = {
    "a name that nobody stores": (CANCEL, ".name: no step before stores 't'; nothing is stored by then"),
    "an unknown address": (
        {"do": "pay", "to": "dsk", "amount": 1},
        ".to: no account or actor is named 'dsk' (did you mean desk?); there are desk, poor, owner, ",
    ),
    "an actor that a workload has not": (
        {"do": "pay", "to": "pulse/2", "amount": 1},
        ".to: pulse has no actor '2'; it has 2, counted from 0",
    ),
    "half a byte": (
        {"do": "pay", "to": "0x1", "amount": 1},
        ".to: 0x is followed by hexadecimal digits, two a byte; got '0x1'",
    ),
    "no digits": ({"do": "delete", "key": "0xgg"}, ".key: 0x is followed by hexadecimal digits"),
    "an unknown address that is watched": (
        {"do": "watch", "name": "w", "watched": [{"address": "desk"}, {"address": "x"}]},
        ".watched[1]: no account or actor is named 'x'",
    ),
    "an unknown address in the script of an agent": (
        {"do": "put", "key": "script", "value": script({"do": "pay", "to": "x", "amount": 1})},
        ".value.steps[0].to: no account or actor is named 'x'",
    ),
}


@pytest.mark.parametrize("what", MEANINGLESS)
def test_a_step_that_means_nothing_is_refused_with_its_place(what):
    step, reason = MEANINGLESS[what]

    assert refusal(entry(FAIL, step)).startswith(f"workload.desk: at[0].steps[1]{reason}")


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([entry(FAIL, actor="dsk")], "at[0].actor: no actor is named 'dsk' (did you mean desk?); there are desk, poor"),
        ([entry(FAIL, sender="desk")], "at[0].sender: no sender is named 'desk'; there are owner"),
        ([entry(FAIL), entry(FAIL, at_ms=1_499)], "at[1].at_ms: 1499 is before the entry above it, which is at 1500"),
    ],
)
def test_an_entry_that_means_nothing_is_refused_with_its_place(entries, reason):
    assert refusal(*entries) == f"workload.desk: {reason}"


def test_names_are_told_apart():
    twice = refusal(entry(FAIL), changes={"accounts": {"desk": 1}})
    assert twice == "workload.desk: accounts: 'desk' is an actor's name already"
    assert refusal(entry(FAIL), changes={"actors": {"a/b": 1}}).startswith("workload.desk.actors: 'a/b' is no name")
    assert refusal(entry(FAIL), changes={"actors": {"a": "b"}}) == "workload.desk.actors.a: Expected `int`, got `str`"


class TestOfResults:
    """A name has to be stored before it is read, as far as the order of the steps is known."""

    def test_a_later_step_of_the_entry_comes_too_late(self):
        assert "no step before stores 't'" in refusal(entry(CANCEL, timer("t")))
        convert(entry(timer("t"), CANCEL))

    def test_a_later_entry_comes_too_late_but_for_what_runs_still_later(self):
        assert "at[0].steps[0].name: no step before" in refusal(entry(CANCEL), entry(timer("t")))
        convert(entry(timer("first", payload=script(CANCEL))), entry(timer("t")))

    def test_another_actor_has_names_of_its_own(self):
        assert "at[1].steps[0].name: no step before" in refusal(entry(timer("t")), entry(CANCEL, actor="poor"))
        message = {"do": "send", "to": "poor", "payload": script(CANCEL)}
        assert "at[0].steps[1].payload.steps[0].name: no step before" in refusal(entry(timer("t"), message))

    def test_an_actor_may_be_handed_a_name(self):
        hand = {"do": "hand", "name": "t", "to": "poor"}
        reader = entry({"do": "cancel", "name": "noted"}, actor="poor")
        convert(entry(timer("t"), hand), reader)
        assert "at[0].steps[0].name: no step before stores 'noted'" in refusal(reader, entry(timer("t"), hand))

    def test_an_identifier_needs_no_name(self):
        convert(entry({"do": "cancel", "name": "0x0102"}))


class TestOfEffects:
    """Each script has to come to its end, or the run shows less than was stated."""

    def effective(self, *entries, **changes):
        result = judge_in_process(convert(*entries, **changes))
        check = check_named(result, "workloads-effective")
        return check.status, check.summary

    def test_a_script_that_is_done_says_so_in_the_chain(self):
        inner = script({"do": "put", "key": "k", "value": "v"})
        message = {"do": "send", "to": "poor", "payload": inner}
        result = judge_in_process(convert(entry(timer("t", payload=inner), message)))
        events = [event for executed in result.chain for event in executed.events if isinstance(event, Emitted)]

        assert result.verdict == "passed"
        assert [(event.topic, event.data) for event in events] == [
            ("done", b"at[0]"),
            ("done", b"at[0].steps[1].payload"),
            ("done", b"at[0].steps[0].payload"),
        ]

    def test_a_step_that_is_refused_leaves_the_next_ones_undone(self):
        assert self.effective(entry(FAIL), entry({"do": "compute", "cycles": 1})) == (
            "inconclusive",
            "desk: scripts that did not come to their end: at[0]",
        )

    def test_a_fire_that_never_comes_is_missed(self):
        _, summary = self.effective(entry(timer("t", 30, payload=script({"do": "compute", "cycles": 1}))))

        assert summary == "desk: scripts that did not come to their end: at[0].steps[0].payload"

    @pytest.mark.soak
    def test_a_fire_that_runs_out_of_gas_is_missed(self):
        _, summary = self.effective(entry(timer("t", payload=script({"do": "compute", "cycles": 9_000}))))

        assert summary == "desk: scripts that did not come to their end: at[0].steps[0].payload"

    def test_a_script_that_may_be_idle_is_not_asked(self):
        idle = script({"do": "compute", "cycles": 9_000}, may_be_idle=True)
        status, _ = self.effective(entry(timer("t", payload=idle)), entry(FAIL, may_be_idle=True))

        assert status == "passed"
        assert len(told(convert(entry(FAIL, may_be_idle=True))).steps) == 1

    def test_a_refusal_that_is_told_ends_no_script(self):
        result = judge_in_process(convert(entry(timer("t", 0), FAIL, on_refusal="tell")))
        (events,) = [
            receipt.events
            for executed in result.chain
            for receipt in map(decode_receipt, executed.receipts)
            if isinstance(receipt, TransactionReceipt) and receipt.events and isinstance(receipt.events[0], Emitted)
        ]

        assert check_named(result, "workloads-effective").status == "passed"
        assert [event.data for event in events] == [b"HeightNotInFuture", b"no", b"at[0]"]


def test_an_agent_of_the_workload_bids():
    """Its script is stored by a step, and run when its timer is about to fire; it may tell nothing."""
    agent = entry({"do": "put", "key": "script", "value": script({"do": "compute", "cycles": 10})}, actor="poor")
    chain = {"policy": "eip1559"}
    result = judge_in_process(convert(agent, entry(timer("t", agent="poor")), chain=chain))
    fees = [event.tip for executed in result.chain for event in executed.events if isinstance(event, TimerFired)]

    assert result.verdict == "passed"
    assert any(fees), "the agent of the script actor bids a tip, the others none"


def test_the_scenario_is_written_and_read_back():
    scenario = convert(entry(timer("t", payload=script({"do": "cancel", "name": "t"}))))

    assert convert_scenario(msgspec.json.decode(encode_scenario(scenario)), "again") == scenario


@pytest.mark.soak
def test_a_name_leads_to_the_timer_of_the_branch_that_wins(tmp_path):
    """View 9 is abandoned for its sibling, in another slot: what was scheduled there has another identifier now."""
    raw = read_toml(SCENARIO_DIRECTORY / "certified-split.toml")
    again = [entry({"do": "cancel", "name": "t"}, timer("t", 9), at_ms=ms) for ms in range(2_000, 16_000, 250)]
    scripts = {"kind": "scripts", "actors": {"desk": 10**14}, "at": [entry(timer("t", 9)), *again]}
    scenario = convert_scenario({**raw, "workload": {**raw["workload"], "desk": scripts}}, "fork")
    desk = desk_of(scenario)[0].actor(0)

    result = judge(scenario, runs=tmp_path)

    ours = {timed.encoded for timed in transactions_of(scenario) if timed.workload == "desk"}
    final = {executed.digest for executed in result.chain}
    lost = [record.block for record in RecordReader(result.directory).branches() if record.digest not in final]
    timers = [
        (type(event), event.timer_id)
        for executed in result.chain
        for event in executed.events
        if isinstance(event, TimerScheduled | TimerCancelled) and event.actor == desk
    ]
    assert result.verdict == "passed"
    assert any(ours & set(decode_block(block).transactions) for block in lost), "the fork touches no script"
    assert [kind for kind, _ in timers] == [TimerScheduled, *[TimerCancelled, TimerScheduled] * len(again)]
    assert [it for _, it in timers[0:-1:2]] == [it for _, it in timers[1::2]]
