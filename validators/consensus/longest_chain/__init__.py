"""The longest chain as a state machine without input or output: slots, fork choice, finality by depth.

`engine` decides. Separate files hold the fork choice (`tree`), seals and proofs (`sealing`), messages and journal
records (`messages`), joining (`joining`), and the configuration (`config`).

Everything that only this engine knows is in this folder. `kind.LONGEST_CHAIN` is its public description. The folder
imports only the interface of engines and signature schemes.
"""

from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.longest_chain.messages import Announcement, Burial, HeadRequest, HeadResponse, SealedHeader

__all__ = ["Announcement", "Burial", "HeadRequest", "HeadResponse", "LongestChainConfig", "SealedHeader"]
