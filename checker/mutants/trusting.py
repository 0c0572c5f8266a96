"""Variants that believe what a dishonest validator says: they show only beside one."""

from typing import Any, Final

from checker.mutants.mutant import Swap, Variant, swap
from validators.consensus.simplex import certificates, screening


def _beside(behaviour: str) -> tuple[str, ...]:
    """Return the setting of a plan in which validator 0 lies in one way for most of the run."""
    span = "start_ms=2_500, stop_ms=15_000"
    return (f'faults={{liar={{kind="dishonest", validator=0, behaviour="{behaviour}", {span}}}}}',)


def _count_no_signers() -> list[Swap]:
    def make(find_fault: Any) -> Any:
        def find_other_fault(certificate: Any, validators: int) -> Any:
            fault = find_fault(certificate, validators)
            return "" if fault == "no quorum" else fault

        return find_other_fault

    other = swap(certificates, "find_certificate_fault", make)
    return [other, (screening, "find_certificate_fault", other[2])]


def _verify_no_certificate() -> list[Swap]:
    return [(screening, "verify_certificate", lambda _scheme, _certificate, _validators: True)]


TRUSTING: Final = (
    Variant(
        name="signers-of-certificates-uncounted",
        what="a certificate that somebody sends may have fewer signers than a quorum",
        area="consensus",
        caught_by=("certificates",),
        swaps=_count_no_signers,
        on_all=True,
        needs=_beside("thin-certificates"),
    ),
    Variant(
        name="signatures-of-certificates-unchecked",
        what="a certificate that somebody sends is taken with whatever signatures it has",
        area="consensus",
        caught_by=("certificates",),
        swaps=_verify_no_certificate,
        on_all=True,
        needs=_beside("thin-certificates"),
    ),
)
"""Variants of what is believed without looking."""
