"""Cases of differential campaigns: files that repeat a failure, made small, and bad files."""

import json

import msgspec
import pytest

from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task, signature_of
from cluster.cli.main import main
from cluster.differential.case_files import FORMAT, CaseError, CaseFile, read_case, write_case
from cluster.differential.chain_draws import DrawnChain
from cluster.differential.smaller import make_smaller
from cluster.differential.tasks import SHRINK, case_path, judge_case, run_differential
from scheduler.policies import aptos

SEED = 3


@pytest.fixture(scope="module")
def block():
    """A drawn block of the queue with transactions."""
    cases = (case for case, _ in DrawnChain(SEED, "aptos").blocks())
    return next(case for case in cases if case.transactions and judge_case(case).compared > 20)


def pay_a_unit_less(cycles, cells, cycle_basefee, cell_basefee):
    return cycles - -cells * cell_basefee // cycle_basefee - (cycles > 0)


def file_of(case):
    return CaseFile(format=FORMAT, shows="a difference", case=case)


def test_a_case_comes_back_from_its_file_as_it_was(block, tmp_path):
    write_case(tmp_path / "block.json", file_of(block))

    assert msgspec.json.encode(read_case(tmp_path / "block.json").case.timers) == msgspec.json.encode(block.timers)
    assert judge_case(read_case(tmp_path / "block.json").case) == judge_case(block)


def test_a_failing_block_becomes_small_and_stays_failing(block, monkeypatch, tmp_path):
    monkeypatch.setattr(aptos, "gas_of", pay_a_unit_less)
    signature = signature_of([judge_case(block)])

    smallest, attempts = make_smaller(block, lambda case: signature_of([judge_case(case)]) == signature)

    assert "TimerFired" in signature
    assert (len(smallest.timers), len(smallest.transactions), len(smallest.genesis.accounts)) == (1, 0, 0)
    assert attempts < 200
    write_case(tmp_path / "small.json", file_of(smallest))
    assert main(["differential", "--case", str(tmp_path / "small.json")]) == 1
    monkeypatch.undo()
    assert main(["differential", "--case", str(tmp_path / "small.json")]) == 0


def test_a_seed_that_fails_leaves_a_case_that_is_made_small(monkeypatch, tmp_path):
    monkeypatch.setattr(aptos, "gas_of", pay_a_unit_less)
    path = case_path(tmp_path, SEED, "aptos")

    result = run_differential(Task(b"aptos", SEED, str(tmp_path)))
    before = read_case(path)
    run_differential(Task(b"aptos", SEED, str(tmp_path), label=SHRINK))
    after = read_case(path)

    assert (result.verdict, result.directory) == ("safety", str(path))
    assert (before.attempts, after.attempts > 0) == (0, True)
    assert len(after.case.blocks) <= 3 < len(before.case.blocks)
    assert signature_of([judge_case(after.case)]) == signature_of([judge_case(before.case)]) == result.signature


def test_a_sound_seed_leaves_its_figures_and_no_case(tmp_path):
    result = run_differential(Task(b"aptos", SEED, str(tmp_path)))

    assert isinstance(result, SeedResult)
    assert (result.verdict, list(tmp_path.iterdir())) == ("passed", [])
    assert dict(result.rules)["count blocks on drawn states"] == 12


BAD = {
    "no JSON": (lambda _: b"{", "not a case file"),
    "another format": (lambda plain: plain | {"format": "x"}, "format: 'x' is not"),
    "an unknown key": (lambda plain: plain | {"what": 1}, "unknown field `what`"),
    "a long list": (lambda plain: changed(plain, timers=plain["case"]["timers"] * 1_000), "timers: "),
    "a number as text": (lambda plain: changed(plain, height="1"), "case.height: Expected `int`"),
    "a low slot": (lambda plain: changed(plain, slot=1, parent_slot=1), "case.slot"),
    "bytes that are none": (lambda plain: changed(plain, timers="0xzz"), "not a case file"),
    "a far due": (lambda plain: with_timer(plain, due=10**12), "case.timers[0].due"),
    "an entry without a price": (lambda plain: with_timer(plain, quote=None), "case.timers[0].quote"),
    "parameters of nothing": (lambda plain: changed(plain, own_config=[1]), "case.own_config"),
    "depth": (lambda plain: changed(plain, own_config=json.loads("[" * 40 + "]" * 40)), "more than 24"),
    "no validators": (lambda plain: with_genesis(plain, 1, []), "case.genesis: "),
    "an unknown policy": (lambda plain: with_genesis(plain, 10, [[1, "no", "0x"]]), "is none of fifo"),
}


def changed(plain, **values):
    return plain | {"case": plain["case"] | values}


def with_timer(plain, **values):
    return changed(plain, timers=[plain["case"]["timers"][0] | values])


def with_genesis(plain, place, value):
    genesis = list(plain["case"]["genesis"])
    genesis[place] = value
    return changed(plain, genesis=genesis)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_told_with_its_place(name, block, tmp_path, capsys):
    change, told = BAD[name]
    path = tmp_path / "case.json"
    write_case(path, file_of(block))
    bad = change(json.loads(path.read_bytes()))
    path.write_bytes(bad if isinstance(bad, bytes) else json.dumps(bad).encode())

    with pytest.raises(CaseError) as error:
        read_case(path)
    assert told in str(error.value)
    assert main(["differential", "--case", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
