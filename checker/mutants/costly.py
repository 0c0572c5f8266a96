"""Mutants that cost time and nothing else, as others make up for them: only a check of that very thing finds them."""

from typing import Any

from checker.mutants.mutant import mutant
from validators.consensus.simplex import screening
from validators.sync.serving import Serving


@mutant((screening, "verify_vote"), area="consensus", kills=("refusals",))
def good_votes_refused(verify_vote: Any) -> Any:
    """A validator takes one in 16 votes for forged."""
    return lambda scheme, vote: vote.signature[0] % 16 != 0 and verify_vote(scheme, vote)


@mutant((Serving, "send"), area="network", kills=("refusals",))
def an_answer_is_under_way_for_ever(send: Any) -> Any:
    """A validator that has answered a peer once says from then on that it still does."""

    def send_and_stay_busy(self: Any, answer: Any) -> None:
        send(self, answer)
        self._under_way[answer.peer] = None

    return send_and_stay_busy
