"""Forms of a behaviour: one that it does not know is refused, and not taken for another one."""

from types import SimpleNamespace

import pytest

from faults.byzantine.blocks import DragTime, ForgeBlock
from faults.byzantine.encodings import _odd
from faults.byzantine.hotstuff_timeouts import misshapen
from faults.byzantine.longest_chain_votes import LongestChainVotes
from faults.byzantine.simplex import MutatedVotes
from faults.byzantine.simplex_chains import _misshapen_proposal
from faults.byzantine.simplex_votes import SimplexVotes
from tests.support.simplex_bench import proposal_of
from validators.consensus.hotstuff.messages import QuorumCertificate
from validators.consensus.longest_chain.messages import Burial
from validators.consensus.simplex import Finalization

BLOCK = SimpleNamespace(header=None, transactions=())


def with_what(what):
    return SimpleNamespace(fault=SimpleNamespace(what=what), FINALITY_FORMS=LongestChainVotes.FINALITY_FORMS)


@pytest.mark.parametrize(
    "forge",
    [
        lambda form: ForgeBlock.forge(SimpleNamespace(_claim=form), BLOCK),
        lambda form: DragTime._time_ms(with_what(form), None, None),
        lambda form: _odd(form, b"\x91\x00"),
        lambda form: misshapen(QuorumCertificate(1, bytes(32), b"\x07", (b"", b"", b"")), form, 4),
        lambda form: MutatedVotes._mutate(with_what(form), proposal_of(2, 1), 1),
        lambda form: _misshapen_proposal(proposal_of(2, 1), form),
        lambda form: SimplexVotes.broken_finality(None, form, Finalization(proposal_of(2, 1), b"\x07", ())),
        lambda form: LongestChainVotes.broken_finality(with_what(form), form, Burial(())),
    ],
    ids=["block", "time", "encoding", "certificate", "vote", "shape", "finality", "proof of depth"],
)
def test_an_unknown_form_is_refused_with_its_name(forge):
    with pytest.raises(ValueError, match="'sideways'"):
        forge("sideways")
