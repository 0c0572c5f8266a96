"""Mutation points: what the library's operators find, how a sample is drawn, which mutants are equivalent."""

import sys

import pytest

from tools.mutation.scan.points import MissingLibraryError, MutationLibrary, MutationPoint, read_source
from tools.mutation.scan.sample import ROOMS, UnknownPlaceError, draw_sample, in_turns, mutants_at
from tools.mutation.scan.triage import Equivalent, Outside, Triage, TriageError, read_triage, stale_entries

SOURCE = '''
"""A source."""

LIMIT: int | None = 4


class Book(Base, frozen=True):
    def fits(self, size: int | None = None) -> bool | None:
        return size < LIMIT and zip(self, self, strict=True)
'''


@pytest.fixture(scope="module")
def library():
    return MutationLibrary()


def point(room, family, number):
    return MutationPoint(f"{room}/a.py", "f", f"{family}_A_B", number, 1, 0)


class TestPoints:
    def test_each_knows_its_function_and_its_line(self, library):
        found = library.points_of("scheduler/a.py", SOURCE)

        places = {(each.family, each.function, each.line) for each in found}
        assert places == {
            ("NumberReplacer", "", 4),
            ("ReplaceComparisonOperator", "Book.fits", 9),
            ("ReplaceAndWithOr", "Book.fits", 9),
        }

    def test_a_mutant_has_its_changed_line(self, library):
        (first, *_) = [each for each in library.points_of("a.py", SOURCE) if each.family == "NumberReplacer"]

        mutant = library.mutant_at(first, SOURCE)

        assert (mutant.before, mutant.after) == ("LIMIT: int | None = 4", "LIMIT: int | None = 5")

    def test_a_change_that_makes_no_program_is_none(self, library):
        source = "def f(a, *, b):\n    return a * b\n"
        points = [
            each for each in library.points_of("a.py", source) if each.operator == "ReplaceBinaryOperator_Mul_Add"
        ]

        made = [library.mutant_at(each, source) for each in points]

        assert [each.after for each in made if each is not None] == ["return a + b"]
        assert len(made) == 2

    def test_the_room_of_a_validators_file_is_its_folder(self):
        rooms = [point(room, "AddNot", 0).room for room in ("scheduler/policies", "validators/state", "validators")]

        assert rooms == ["scheduler", "validators/state", "validators"]

    def test_without_the_library_there_is_one_line(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cosmic_ray.ast", None)

        with pytest.raises(MissingLibraryError, match=r"not installed .* requirements/scan\.txt"):
            MutationLibrary()

    def test_what_only_counts_a_cell_and_how_arguments_are_given_are_left_out(self, library):
        source = """
def f(a, *, b=1):
    if a > b:
        reach(DiskRule.TORN if a > 2 else DiskRule.WHOLE)
    if a == b:
        reach(a > 7)
"""
        points = library.points_of("a.py", source)
        made = (library.mutant_at(each, source) for each in points)
        changed = {mutant.before for mutant in made if mutant is not None}

        assert changed == {"def f(a, *, b=1):", "if a == b:", "reach(a > 7)"}
        stars = [each for each in points if each.family == "ReplaceBinaryOperator"]
        assert stars
        assert not any(library.mutant_at(each, source) for each in stars)


class TestSample:
    POINTS = tuple(
        point(room, family, number)
        for room, count in (("scheduler", 40), ("network", 3), ("validators/state", 9))
        for family in ("AddNot", "NumberReplacer")
        for number in range(count)
    )

    def test_rooms_take_turns_and_in_each_the_operators(self):
        first = list(in_turns(self.POINTS, 0))[:12]

        assert [each.room for each in first] == ["network", "scheduler", "validators/state"] * 4
        assert [each.family for each in first[::3]] == ["AddNot", "NumberReplacer"] * 2

    def test_it_holds_every_point_once(self):
        assert sorted(in_turns(self.POINTS, 3)) == sorted(self.POINTS)

    def test_it_depends_on_the_seed_and_not_on_the_order(self):
        once, again = list(in_turns(self.POINTS, 1)), list(in_turns(reversed(self.POINTS), 1))

        assert once == again
        assert once != list(in_turns(self.POINTS, 2))

    def test_a_longer_one_begins_with_the_shorter_one(self, library):
        rooms = ("validators/mempool",)
        short, long = (list(draw_sample(library, size, 5, rooms=rooms)) for size in (3, 6))

        assert long[:3] == short
        assert {each.point.room for each in long} == set(rooms)

    def test_instead_of_one_lines_can_be_named(self, library):
        file = "scheduler/identifiers.py"
        line = read_source(file)[: read_source(file).index("counter is None else")].count("\n") + 1

        made = list(mutants_at(library, [(file, line)], ["ReplaceComparisonOperator"]))

        assert {(mutant.point.file, mutant.point.line) for mutant in made} == {(file, line)}
        assert "keccak256(preimage if counter is not None else" in " ".join(mutant.after for mutant in made)

    def test_a_line_without_mutants_is_named(self, library):
        with pytest.raises(UnknownPlaceError, match=r"--only: no operator changes scheduler/identifiers\.py:1"):
            mutants_at(library, [("scheduler/identifiers.py", 1)])

    def test_every_room_has_points(self):
        assert len(ROOMS) == len(set(ROOMS)) == 11


class TestEquivalents:
    @pytest.mark.soak
    def test_every_entry_fits_the_sources_as_they_are(self, library):
        assert stale_entries(library, read_triage()) == []

    def test_an_entry_whose_line_has_changed_is_stale(self, library):
        (mutant,) = draw_sample(library, 1, 0, rooms=("validators/mempool",))
        place = mutant.point
        entry = Equivalent(
            file=place.file,
            function=place.function,
            operator=place.operator,
            before=mutant.before,
            after=mutant.after,
            reason="a test",
        )
        moved = Equivalent(**{name: getattr(entry, name) for name in entry.__struct_fields__} | {"before": "x = 1"})

        assert entry.fits(mutant)
        assert stale_entries(library, Triage((entry, moved))) == [str(moved)]

    @pytest.mark.soak
    def test_places_outside_are_not_drawn(self, library):
        rooms = ("validators/mempool",)
        outside = Triage((), (Outside(file="*/pool.py", function="Mempool*", reason="a test"),))

        drawn = list(draw_sample(library, 400, 0, rooms=rooms, triage=outside))

        assert {each.point.file for each in drawn} == {"validators/mempool/gossip.py", "validators/mempool/pool.py"}
        assert not [each.point for each in drawn if each.point.function.startswith("Mempool")]

    @pytest.mark.soak
    def test_places_outside_that_are_not_there_are_stale(self, library):
        entry = Outside(file="network/*.py", function="Gone.*", reason="a test")

        assert stale_entries(library, Triage((), (entry,))) == ["network/*.py: Gone.*"]

    def test_a_file_of_another_form_is_named_with_its_key(self, tmp_path):
        path = tmp_path / "e.toml"
        path.write_text('[[equivalent]]\nfile = "a.py"\n')

        with pytest.raises(TriageError, match=r"e\.toml: .*function"):
            read_triage(path)
