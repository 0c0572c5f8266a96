"""Rounds in memory beside the rounds that the journal leads to, for the checks: unwritten data is lost to a restart."""

from collections.abc import Iterable, Iterator, Sequence

from network.types import NodeId
from validators.consensus.interface import Finality
from validators.consensus.simplex.artifacts import Artifact, artifact_view
from validators.consensus.simplex.messages import (
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullify,
    Vote,
)
from validators.consensus.simplex.recovery import restore
from validators.consensus.simplex.resolver import Helper, Resolver
from validators.consensus.simplex.rounds import Certified, Round
from validators.consensus.simplex.views import Views
from validators.derived import Derived, DerivedSize, Plain


def derive_rounds(
    views: Views,
    helper: Helper,
    resolver: Resolver,
    *,
    records: Sequence[Artifact],
    floor: Finality | None,
    me: NodeId,
) -> Derived:
    """Return the rounds above finality beside the same rounds from the journal, and the sizes of all rounds."""
    assert floor is None or isinstance(floor, Finalization), f"{floor!r} is no finality of Simplex"
    fresh = Views(validators=views.validators, genesis=b"", view_retention=views.view_retention)
    restore(fresh, records, me, floor)
    rounds = views.kept()
    ahead = sum(each.view > views.current + 1 and each.notarization is not None for each in rounds)
    lowest = max(views.finalized_view - views.view_retention, 0)
    votes = sum(len(each.votes) for each in rounds)
    is_asked_in_vain = resolver.target is not None and not views.finalized_view < resolver.target < views.current
    return Derived(
        part="consensus rounds",
        kept=_describe(views) | _describe_counted(_list_counted(views, me)),
        rebuilt=_describe(fresh) | _describe_counted(each for each in records if _is_own(each, views)),
        sizes=(
            DerivedSize(
                "rounds", len(rounds), views.current + 2 - lowest + ahead, "views from the retention to the next one"
            ),
            DerivedSize("votes and evidence", votes, 6 * views.validators * len(rounds), "6 n for each round"),
            DerivedSize("validators helped", len(helper), views.validators, "n"),
            DerivedSize("views asked for that are final or not left", is_asked_in_vain, 0, "0"),
        ),
    )


def _is_own(record: Artifact, views: Views) -> bool:
    """Whether a record is a vote, hence our own, of a view that is not final."""
    return isinstance(record, Notarize | Nullify | Finalize) and artifact_view(record) > views.finalized_view


def _list_counted(views: Views, me: NodeId) -> Iterator[Vote]:
    """Yield the own votes that count towards certificates."""
    for each in views.unfinalized():
        for votes in (each.votes.notarizes, each.votes.nullifies, each.votes.finalizes):
            if me in votes:
                yield votes[me]


def _describe_counted(votes: Iterable[Artifact]) -> dict[str, Plain]:
    # From the records one by one, not through `restore`, which may have left a record out.
    return {f"{each.traced_name} of view {artifact_view(each)} counted": True for each in votes}


def _describe(views: Views) -> dict[str, Plain]:
    """Return the facts about views that the journal must contain."""
    found: dict[str, Plain] = {"current view": views.current, "finalized view": views.finalized_view}
    for each in views.unfinalized():
        found |= {f"{what} of view {each.view}": value for what, value in _describe_round(each).items() if value}
    return found


def _describe_round(each: Round) -> dict[str, Plain]:
    is_decided = each.certified in {Certified.PASSED, Certified.FAILED}
    return {
        "own notarize": _payload_of(each.own_notarize),
        "own nullify": each.own_nullify is not None,
        "own finalize": _payload_of(each.own_finalize),
        "notarization": _payload_of(each.notarization),
        "nullification": each.nullification is not None,
        "certification": each.certified.value if is_decided else None,
    }


def _payload_of(message: Notarize | Finalize | Notarization | None) -> bytes | None:
    return None if message is None else message.proposal.payload
