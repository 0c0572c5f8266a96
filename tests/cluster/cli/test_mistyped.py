"""The hint at the nearest command, choice or option where one is mistyped."""

import pytest

from cluster.cli.main import main


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("swep calm", "'swep' (did you mean sweep?) (choose from "),
        ("run calm --faults heavvy", "'heavvy' (did you mean heavy?) (choose from "),
        ("run calm --sed 3", "unrecognized arguments: --sed (did you mean --seed?) 3"),
        ("sweep calm --sed=0..1", "unrecognized arguments: --sed=0..1 (did you mean --seeds?)"),
        ("export runs/calm-0 perfeto", "'perfeto' (did you mean perfetto?)"),
        ("new ../evil", "'../evil': a name has small letters, digits and hyphens"),
    ],
)
def test_a_mistyped_word_is_told_the_nearest_one(typed, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(typed.split()))

    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert hint in said.err
    assert said.err.count("\n") == 1
