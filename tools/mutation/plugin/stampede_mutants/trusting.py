"""Mutants that believe what a Byzantine validator says: they show only beside one."""

from functools import partial
from typing import Any

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import SIMPLEX
from validators.consensus.simplex import certificates, screening

_mutant = partial(mutant, area="consensus")


def beside(behaviour: str, what: str = "") -> tuple[str, ...]:
    """Return the setting of a plan in which validator 0 lies in one way for most of the run."""
    span = "start_ms=2_500, stop_ms=15_000"
    forger = f'faults={{forger={{kind="byzantine", validator=0, behaviour="{behaviour}", what="{what}", {span}}}}}'
    return (SIMPLEX, forger)


@_mutant(
    (certificates, "find_certificate_fault"),
    (screening, "find_certificate_fault"),
    kills=("certificates",),
    on_all=True,
    needs=beside("invalid-certificates"),
)
def signers_of_certificates_uncounted(find_fault: Any, _same: Any) -> Any:
    """A certificate from a peer may have fewer signers than a quorum."""

    def find_other_fault(certificate: Any, validators: int) -> Any:
        fault = find_fault(certificate, validators)
        return "" if fault == "no quorum" else fault

    return find_other_fault, find_other_fault


@_mutant((screening, "verify_certificate"), kills=("certificates",), on_all=True, needs=beside("invalid-certificates"))
def signatures_of_certificates_unchecked(_original: Any) -> Any:
    """A certificate from a peer is taken whatever its signatures are."""
    return lambda _scheme, _certificate, _validators: True
