"""A study made by hand, for the tests of its page and files."""

from report.page.study_rows import ArmRow, FindingRow, Plot, Series, SpreadRow, StudyRows


def spread(mean):
    """Return a mean with an interval of a tenth on both sides."""
    return SpreadRow(mean, mean * 0.9, mean * 1.1)


def made_study(text="hello"):
    """Return the rows of a made-up study of two axes and two figures; `text` is everywhere, one arm has no value."""
    splits, weights = ("2", "20", "200"), ("actor", text)
    shares = {(split, weight): spread(0.1 * (1 + place)) for place, split in enumerate(splits) for weight in weights}
    arms = [
        ArmRow((split, weight), 20, (share, None if split == "2" else spread(1_500.0)))
        for (split, weight), share in shares.items()
    ]
    by_weight = [Series(weight, [shares[split, weight] for split in splits]) for weight in weights]
    return StudyRows(
        name="fragmentation",
        title=text,
        question=f"Does {text} gain by splitting?",
        place=f"{text} 16",
        verdict="passed",
        headline=text,
        sentences=(text, "The share rises."),
        limits=(text,),
        facts=(("fingerprint", text),),
        axes=("splits", "weight"),
        figures=("share", "wait"),
        arms=arms,
        findings=[FindingRow(text, status) for status in ("holds", "does not hold", "unclear")],
        validity=((text, "at least 0.5", "0.9"),),
        plots=(
            Plot(text, "splits", splits, by_weight),
            Plot("wait", "splits", splits, [Series("actor", [None, spread(1_500.0), spread(2_000.0)])]),
            Plot("by policy", "policy", ("fifo", text, "eip1559"), [Series("share", [spread(0.5)] * 3)]),
        ),
    )
