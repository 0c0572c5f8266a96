"""Mutants without a guard: what a peer, a leader or an agent must not do is taken from it. They show beside one."""

from dataclasses import replace
from functools import partial
from typing import Any

from checker.mutants.mutant import mutant
from stampede_mutants.trusting import beside
from validators.consensus.simplex import certificates, screening
from validators.consensus.simplex.views import Invalid, Views
from validators.execution import engine as execution
from validators.execution.errors import InvalidBlockError
from validators.execution.run import BlockRun
from validators.header_rules import HeaderRules

_consensus = partial(mutant, area="consensus", on_all=True)
_execution = partial(mutant, area="execution", on_all=True)


def _without(check_header: Any, words: str) -> Any:
    """Return the check of headers without the one whose refusal begins so."""

    def check_all_but_one(header: Any, parent: Any, genesis: Any) -> None:
        try:
            check_header(header, parent, genesis)
        except InvalidBlockError as error:
            if not error.reason.startswith(words):
                raise

    return check_all_but_one


@_consensus(
    (Views, "check_ancestry"),
    kills=("consensus", "agreement"),
    needs=beside("skip-view", what="stated"),
)
def views_left_out(_original: Any) -> Any:
    """A proposal may leave out views that nobody has nullified."""

    def check_parent_alone(self: Any, proposal: Any) -> Any:
        if proposal.parent_view >= proposal.view:
            return Invalid("ParentNotBeforeProposal")
        return self._check_parent(proposal.parent_view)

    return check_parent_alone


@_consensus(
    (HeaderRules, "find_fault"),
    kills=("leaders",),
    needs=beside("skip-view", what="hidden"),
)
def parents_of_headers_unread(find_fault: Any) -> Any:
    """A block may have another parent than its proposal says."""

    def find_others(self: Any, goal: Any, header: Any) -> Any:
        return find_fault(self, replace(goal, parent=header.parent), header)

    return find_others


@_consensus((HeaderRules, "is_of_view"), kills=("leaders", "certificates"), needs=beside("forge-header", what="view"))
def views_of_headers_unread(_original: Any) -> Any:
    """A block may be of another view than its proposal says."""
    return lambda _self, _header, _view: True


@_execution((execution, "check_header"), kills=("block-times",), needs=beside("forge-header", what="time"))
def times_of_headers_unread(check_header: Any) -> Any:
    """A block may have its parent's time."""
    return _without(check_header, "timestamp")


@_execution((execution, "check_header"), kills=("block-times",), needs=beside("forge-header", what="slot"))
def slots_of_headers_unread(check_header: Any) -> Any:
    """A block's slot need not be that of its time."""
    return _without(check_header, "slot")


@_execution((execution, "check_header"), kills=("oracle",), needs=beside("forge-header", what="version"))
def versions_of_headers_unread(check_header: Any) -> Any:
    """A block may have any version."""
    return _without(check_header, "version")


@_execution((execution, "check_header"), kills=("oracle",), needs=beside("forge-header", what="epoch"))
def epochs_of_headers_unread(check_header: Any) -> Any:
    """A block may be of any consensus epoch."""
    return _without(check_header, "consensus epoch")


@_execution((BlockRun, "_include"), kills=("oracle",), needs=beside("forge-body", what="unsigned"))
def signatures_in_blocks_unread(include: Any) -> Any:
    """A block may hold a transaction that its sender has not signed."""

    def include_unread(self: Any, candidate: Any) -> None:
        rules = self._rules
        self._rules = replace(rules, verify_transaction=lambda _transaction: True)
        try:
            include(self, candidate)
        finally:
            self._rules = rules

    return include_unread


@_consensus(
    (certificates, "find_certificate_fault"),
    (screening, "find_certificate_fault"),
    kills=("agreement",),
    needs=beside("malformed-votes", what="signatures"),
)
def signatures_uncounted(find_fault: Any, _same: Any) -> Any:
    """A certificate from a peer may have more signatures than signers."""

    def find_others(certificate: Any, validators: int) -> str:
        fault = find_fault(certificate, validators)
        return "" if fault == "signature count" else str(fault)

    return find_others, find_others
