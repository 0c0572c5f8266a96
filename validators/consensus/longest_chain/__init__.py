"""The longest chain as a state machine without input or output: slots, fork choice, finality by depth.

`engine` decides. Files of their own have the fork choice (`tree`), seals and proofs (`sealing`), messages and journal
records (`messages`), joining (`joining`), and the configuration (`config`).

Everything that only this engine knows stands here; `kind.LONGEST_CHAIN` says what others may know of it. Nothing
outside comes in but the interface of engines and signature schemes.
"""

from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.longest_chain.messages import Announcement, Burial, HeadRequest, HeadResponse, SealedHeader

__all__ = ["Announcement", "Burial", "HeadRequest", "HeadResponse", "LongestChainConfig", "SealedHeader"]
