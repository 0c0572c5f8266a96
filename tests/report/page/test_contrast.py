"""The contrast of every text of a page with what is behind it: WCAG AA, 4.5 to 1, in both schemes."""

import re

import pytest

from report.page.render import ASSETS

CSS = (ASSETS / "page.css").read_text(encoding="utf-8")

LEAST = 4.5

BAND = 0.35
"""The opacity of a fault's band."""

PAIRS = (
    *((text, ground) for text in ("fg", "dim", "link") for ground in ("bg", "card")),
    *((text, "bg") for text in ("good", "bad", "warn")),
    *(("on", f"g{group}") for group in range(1, 8)),
    *(("fg", ground) for ground in ("off", "apart", "side0", "side1", "side2", "side3")),
)
"""Names of the colours of a text and of its ground."""


def colours(scheme):
    rules = re.findall(r":root(?::not\(\.printing\))? \{([^}]*)\}", CSS)
    found = dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})\b", rules[0]))
    if scheme == "dark":
        found |= dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})\b", rules[1]))
    return {name: channels(code) for name, code in found.items()}


def channels(code):
    digits = code[1:] if len(code) == 7 else "".join(2 * digit for digit in code[1:])
    return [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]


def luminance(colour):
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first, second):
    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def mixed(colour, ground, share):
    return [share * each + (1 - share) * behind for each, behind in zip(colour, ground, strict=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(scheme):
    found = colours(scheme)
    measured = {pair: contrast(found[pair[0]], found[pair[1]]) for pair in PAIRS}
    for fault in range(6):
        measured["fg", f"f{fault}"] = contrast(found["fg"], mixed(found[f"f{fault}"], found["bg"], BAND))

    assert {pair: round(ratio, 2) for pair, ratio in measured.items() if ratio < LEAST} == {}


@pytest.mark.parametrize("badge", re.findall(r"\.badge[^{]*\{[^}]*background:(#[0-9a-f]{6})", CSS))
def test_white_words_of_a_badge_stand_out(badge):
    assert contrast([1, 1, 1], channels(badge)) >= LEAST
