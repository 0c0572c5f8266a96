"""The curve of a failure: continuations of a run, the rise of its share, and the command."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster.campaign.results_db import ResultsFile
from cluster.campaign.shrink import without_expected
from cluster.causality import continuations, draws, rise
from cluster.causality.asking import Continuations, OtherRunError, Point
from cluster.causality.continuations import failed_run, run_continuation
from cluster.causality.draws import Counterfactuals, JudgedDraw, OtherValue
from cluster.causality.intervals import wilson_ppm
from cluster.causality.known_rise import curve_path, idle_at_rise, whole_scenario
from cluster.causality.later_faults import with_later_faults
from cluster.causality.rise import Rise, find_rise
from cluster.causality.told import curve_lines, write_csv
from cluster.causality.told_draws import sentence_of
from cluster.cli.commands.campaigns import curve
from cluster.cli.main import main
from cluster.scenario.load import load_scenario, with_reseeds
from cluster.swarm.generator import draw_scenario
from faults.kinds.restart_storm import RestartStorm
from network.reseeding import ConsumedDraw, chance_of
from tests.support.cluster_runs import judge
from tests.support.pages import text_of

TURNS = 2_000

NOTARIZE = "Notarize from validator 2 to 3 in view 41"
ALWAYS = "it always fails where this message"


class TestIntervals:
    def test_bounds_are_exact_and_rounded_outwards(self):
        """35 of 35 are the first whose lower bound is 0.9: 35 / (35 + 1.96^2)."""
        assert [wilson_ppm(runs, runs)[0] >= 900_000 for runs in (34, 35, 36)] == [False, True, True]
        square = Fraction(196, 100) ** 2
        assert wilson_ppm(36, 36) == (int(36_000_000 / (36 + square)), 1_000_000)
        assert wilson_ppm(0, 36) == (0, 1_000_000 - wilson_ppm(36, 36)[0])
        assert wilson_ppm(3, 8) == (136_841, 694_263)
        assert wilson_ppm(0, 0) == (0, 1_000_000)


class TestRise:
    @pytest.mark.parametrize("decided", [2, 1_400, 1_999, 2_000, 2_001])
    def test_the_rise_is_found_to_one_turn(self, decided):
        """Up to a turn one continuation of 8 fails, and from that turn on all do."""
        asked = []

        def points(ask):
            asked.extend(ask)
            return [Point(turn, turn, runs, runs if turn >= decided else runs // 8, {}) for turn, runs in ask]

        found = find_rise(points, TURNS, TURNS)
        assert (found.low.turn, found.high.turn) == (decided - 1, decided)
        assert [point.turn for point in found.points] == sorted(point.turn for point in found.points)
        # After the last turn no draw is left, so that a single run is all there is.
        assert found.is_baked_in == (decided <= TURNS)
        assert sum(runs for _, runs in asked) <= 7 * 8 + 12 * 8 + 2 * 36

    def test_a_failure_that_no_chance_moves_takes_forty_continuations(self):
        asked = []

        def points(ask):
            asked.extend(ask)
            return [Point(turn, turn, runs, runs, {}) for turn, runs in ask]

        assert find_rise(points, TURNS, TURNS).is_unavoidable
        assert asked == [(1, 8), (1, 40)]

    def test_a_point_that_few_continuations_get_wrong_is_asked_again(self):
        """From turn 1,500 on 6 of 8 fail, and before it one does; of the first 8 at turn 1,582 three fail."""

        def points(ask):
            found = ((turn, runs, 3 if (turn, runs) == (1_582, 8) else _share_of(turn, runs)) for turn, runs in ask)
            return [Point(turn, turn, runs, same, {}) for turn, runs, same in found]

        def _share_of(turn, runs):
            return runs // 8 if turn < 1_500 else 3 * runs // 4

        assert find_rise(points, TURNS, TURNS).high.turn == 1_500


class HereRunner:
    """Runs tasks in this process, and counts them."""

    def __init__(self):
        self.runs = 0

    def results(self, tasks):
        for task in tasks:
            self.runs += 1
            yield task, run_continuation(task)


@pytest.fixture(scope="module")
def failed():
    """Return a run that fails in each of its fires."""
    scenario = without_expected(load_scenario("broken-refund", ("run.until_height=4",)))
    return failed_run(scenario, 0, judge(scenario).checks)


class TestContinuations:
    def test_continuations_are_counted_by_what_they_come_to(self, failed, tmp_path):
        """The same check, part and table is the failure; the results file goes on where it was."""
        runner = HereRunner()
        with ResultsFile(tmp_path / "curve.sqlite", "curve") as results:
            asked = Continuations(failed, "chance", runner=runner, results=results)
            last = failed.turns
            points = asked.points([(1, 1), (last, 2)])
            assert [(point.turn, point.runs, point.same, point.others) for point in points] == [
                (1, 1, 1, {}),
                (last, 2, 2, {}),
            ]
            assert points[1].at_us == failed.times_us[-1]
            # One of each signature is explained.
            assert runner.runs == 4
            again = Continuations(failed, "chance", runner=runner, results=results)
            assert again.points([(1, 1), (last, 2)]) == points
            assert runner.runs == 4

            other = Continuations(failed._replace(place="timer"), "chance", runner=runner, results=results)
            (point,) = other.points([(1, 1)])
            assert (point.same, list(point.others.values()), point.passed) == (0, [1], 0)

            moved = failed._replace(log=bytes(len(failed.log)))
            stranger = Continuations(moved, "chance", runner=runner, results=results)
            with pytest.raises(OtherRunError, match="is not the run up to there"):
                stranger.points([(last - 1, 1)])

    def test_the_faults_that_start_later_are_drawn_again(self):
        """Those that may have begun stay, and those of dishonest validators."""
        scenario = draw_scenario(7, ())
        starts = sorted(fault.bounds()[0] for fault in scenario.faults.values())
        at_us = starts[0] * 1_000
        found = with_later_faults(with_reseeds(scenario, [(400, 1)]), at_us, 5)
        stays = {name: each.is_byzantine or each.bounds()[0] * 1_000 <= at_us for name, each in scenario.faults.items()}
        kept = [name for name, it_stays in stays.items() if it_stays]
        assert list(found.faults)[: len(kept)] == kept
        later = list(found.faults)[len(kept) :]
        assert later
        assert all(name.endswith(" again") and found.faults[name].bounds()[0] * 1_000 > at_us for name in later)
        assert with_later_faults(scenario, 10**12, 5) is scenario


class TestDraws:
    @pytest.mark.parametrize(
        ("purpose", "had", "others", "expected"),
        [
            (
                "loss",
                (True, None),
                [(True, None), (False, 40_000), (False, 40_000)],
                f"loss of {NOTARIZE}, which was lost: {ALWAYS} is lost, and never where it arrives",
            ),
            (
                "loss",
                (True, 30_000),
                [(False, None), (True, 30_000)],
                f"loss of {NOTARIZE}, which took 30.000 ms: {ALWAYS} arrives, and never where it is lost",
            ),
            (
                "duplicate dew",
                (True, 9_000),
                [(True, 12_000), (False, 12_000)],
                f"duplicate of {NOTARIZE} by fault dew, which took 9.000 ms: {ALWAYS} comes twice, and never otherwise",
            ),
            (
                "flip rain",
                (True, 12_000),
                [(True, 12_000), (False, 12_000)],
                f"flip of {NOTARIZE} by fault rain, which took 12.000 ms: fails with 1 of 2 other values",
            ),
            (
                "corrupt rain",
                (True, 12_000),
                [(False, 12_000), (True, 12_000)],
                f"corrupt of {NOTARIZE} by fault rain, which took 12.000 ms: fails with 1 of 2 other values",
            ),
            (
                "latency",
                (True, 12_000),
                [(True, 9_000), (False, 30_500), (True, 22_000)],
                f"delay of {NOTARIZE} was 12.000 ms: up to 22.000 ms it always fails, from 30.500 ms on it never does",
            ),
            (
                "latency",
                (True, 12_000),
                [(False, 9_000), (False, 30_500), (True, 22_000)],
                f"delay of {NOTARIZE} was 12.000 ms: fails with 1 of 3 other values",
            ),
        ],
    )
    def test_a_draw_is_named_with_the_message_that_it_was_for(self, purpose, had, others, expected):
        draw = ConsumedDraw(purpose, "2->3", 55, 1_398, 7)
        values = [OtherValue(word, *value) for word, value in enumerate((had, *others))]
        assert sentence_of(JudgedDraw(draw, ("Notarize", 41), values[0], tuple(values[1:]))) == expected

    def test_a_draw_of_no_message_is_named_by_its_key(self):
        draw = ConsumedDraw("bit rot", "rot/1/log-a/3", 2, 9, 7)
        values = (OtherValue(0, fails=True, delay_us=None), OtherValue(0, fails=False, delay_us=None))
        assert sentence_of(JudgedDraw(draw, None, values[0], values)) == (
            "bit rot, rot/1/log-a/3, draw 2: fails with 1 of 2 other values"
        )

    def test_a_draw_made_ahead_is_of_the_last_turn_that_still_changes_it(self):
        """A storm draws all its outages at its start; a new seed in the instant of an outage leaves that outage."""
        consumed = []
        chance = chance_of(3, consumed=consumed).counted_from(1_000_000)
        storm = RestartStorm(start_ms=0, stop_ms=4_000, every_ms=(500, 900), down_ms=(100, 300))
        outages = list(storm.drawn_outages("storm", chance, 4))
        due = {draw.ordinal: draw.due_us for draw in consumed if draw.subject == "down"}
        assert due == {cut: 1_000_000 + outage.at_ms * 1_000 for cut, outage in enumerate(outages)}

        times_us = [0, 1_400_000, due[1] - 1, due[1], due[1], due[1] + 1]
        (draw,) = (each for each in consumed if (each.subject, each.ordinal) == ("down", 1))
        assert continuations._in_its_turn(draw, times_us).turn == 3
        assert continuations._in_its_turn(draw._replace(due_us=None, turn=1), times_us).turn == 1

    @pytest.mark.parametrize("alone_max", [0, 12])
    def test_a_draw_that_does_not_move_the_failure_is_not_named(self, failed, tmp_path, monkeypatch, alone_max):
        """Nor is a draw whose group moved nothing when the group was drawn again."""
        monkeypatch.setattr(draws, "VALUES", 2)
        monkeypatch.setattr(draws, "ALONE_MAX", alone_max)
        turns = [draw.turn for draw in failed.draws]
        turn = next(turn for turn in turns if turns.count(turn) == 3)
        runner = HereRunner()
        with ResultsFile(tmp_path / "curve.sqlite", "curve") as results:
            asked = Counterfactuals(failed, "chance", runner=runner, results=results)
            assert asked.judge_turns(turn, turn) == []
        assert runner.runs == 3 * (3 if alone_max else 2) + 1


class TestConsole:
    def test_quiet_leaves_the_rows_away_and_keeps_what_they_say(self):
        low, high = Point(4, 40, 36, 0, {}), Point(5, 50, 36, 36, {})
        run = SimpleNamespace(turns=9, times_us=[10 * turn for turn in range(1, 10)])
        told = {quiet: [*curve_lines(run, "chance", Rise([low, high], low, high), is_quiet=quiet)] for quiet in (0, 1)}

        assert [line for line in told[0] if line in told[1]] == told[1]
        assert [line.split()[1] for line in told[0] if line.startswith(">")] == ["4", "5"]
        assert "the rise is at turn 4" in told[1][1]


class TestCommand:
    def test_a_deterministic_failure_is_called_unavoidable(self, tmp_path, monkeypatch, capsys):
        """The place is named by the explanation instead of a flat plot; table and JSON have the counts."""
        monkeypatch.setattr(rise, "PROBE_RUNS", 1)
        monkeypatch.setattr(rise, "GENESIS_RUNS", 2)
        record = judge(load_scenario("broken-refund", ("run.until_height=3",)), runs=tmp_path).directory

        assert main(["curve", str(record), "--no-shrink", "--json", "--jobs", "1"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["failure"], told["place"]) == ("oracle/supply", "account")
        assert told["curves"]["chance"]["unavoidable"]
        (row,) = csv.DictReader(Path(told["table"]).read_text(encoding="utf-8").splitlines())
        assert (row["mode"], row["turn"], row["continuations"], row["same"]) == ("chance", "1", "2", "2")
        page = Path(told["page"]).read_bytes()
        assert "Unavoidable from genesis: the same in 2 of 2 continuations" in text_of(page, "verdict")
        assert "Height: 3, block" in text_of(page, "why")

        monkeypatch.setattr(curve, "page_of_curves", lambda *_, **__: page)
        assert main(["curve", str(record), "--no-shrink", "--quiet", "--jobs", "1"]) == 0
        lines = capsys.readouterr().out
        assert lines.endswith(f"table   {told['table']}\npage    {told['page']}\n")
        assert "unavoidable from genesis: the same in 2 of 2 continuations; Height 3: the balance of account" in lines

    def test_a_run_that_passed_is_refused(self, tmp_path, capsys):
        """Exit 2, in one line."""
        record = judge(load_scenario("calm", ("run.until_height=4",)), runs=tmp_path).directory
        assert main(["curve", str(record)]) == 2
        assert "is a run that passed" in capsys.readouterr().err


class TestKnownRise:
    """`shrink` takes the rise from the table of a curve."""

    @pytest.mark.parametrize("mode", ["chance", "chance and faults"])
    def test_the_faults_that_are_not_at_work_at_the_rise_are_named(self, tmp_path, mode):
        """Only the curve without other faults counts, because its faults are those of the record."""
        recorded = draw_scenario(3, ())
        bounds_us = {name: [1_000 * at_ms for at_ms in each.bounds()] for name, each in recorded.faults.items()}
        rise_us = sorted(stop_us for _, stop_us in bounds_us.values())[1]
        times_us = (1, rise_us, rise_us + 1)
        points = [Point(turn, at_us, 36, 36 * (turn > 2), {}) for turn, at_us in enumerate(times_us, 1)]
        found = rise.Rise(points, points[1], points[2])
        table = curve_path(tmp_path, "it", whole_scenario(recorded)).with_suffix(".csv")
        write_csv(table, SimpleNamespace(turns=3), {mode: found})

        over = [name for name, (_, stop_us) in bounds_us.items() if stop_us <= rise_us]
        later = [name for name, (start_us, _) in bounds_us.items() if start_us > rise_us]
        assert over
        assert later
        assert len(over) + len(later) < len(bounds_us)
        found = idle_at_rise(recorded, "it", tmp_path)
        assert sorted(found) == (sorted([*over, *later]) if mode == "chance" else [])
        assert idle_at_rise(recorded, "another", tmp_path) == ()

    @pytest.mark.parametrize("content", [b"", b"mode\nchance\n", b"\xff", b"chance,1,many,1,1,0,0,1,1,before\n"])
    def test_a_table_that_is_none_counts_as_no_table(self, tmp_path, content):
        recorded = draw_scenario(7, ())
        curve_path(tmp_path, "it", whole_scenario(recorded)).with_suffix(".csv").write_bytes(content)
        assert idle_at_rise(recorded, "it", tmp_path) == ()


class TestPlan:
    @pytest.mark.parametrize(
        ("is_likely", "is_whole_unavoidable", "expected"),
        [(False, False, "plan"), (True, False, "whole"), (True, True, "plan")],
    )
    def test_a_plan_that_fails_in_most_continuations_gives_way_to_the_run(
        self, tmp_path, is_likely, is_whole_unavoidable, expected
    ):
        """Unless no chance moves the run either: then the smaller plan says as much."""
        plan, recorded = tmp_path / "plan.toml", load_scenario("calm", ("run.until_height=4",))
        plan.write_text('name = "plan"\ntitle = "a plan"\n[workload.pulse]\nkind = "heartbeats"\nactors = 1\n')

        class Finder:
            def is_likely(self, _scenario, _plan):
                return is_likely

            def find(self, scenario, _plan):
                name = "plan" if scenario.name == "plan" else "whole"
                is_unavoidable = name == "whole" and is_whole_unavoidable
                return SimpleNamespace(name=name, curves={"chance": SimpleNamespace(is_unavoidable=is_unavoidable)})

        found, note = curve._find(Finder(), recorded, plan)
        assert (found.name, bool(note)) == (expected, expected == "whole")
