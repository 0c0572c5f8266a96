"""Golden cases: what one expects."""

READINGS_LEFT_OUT = {
    "basefee": ("floor_product",),
}
"""Parts of an answer that show another reading than the one built (docs/spec.md)."""


def expected_of(case):
    left_out = READINGS_LEFT_OUT.get(case["kind"], ())
    expected = case["expected"]
    return {name: value for name, value in expected.items() if name not in left_out} if left_out else expected
