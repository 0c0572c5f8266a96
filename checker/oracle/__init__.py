"""The oracle: the chain of docs/chain.md and docs/state.md restated in the plainest possible way.

It shares no code with the validators and imports nothing of `scheduler/` or `validators/`. So a mistake stays unseen
only if it is made twice, in two different forms. It keeps its state in dicts and searches them; where the chain keeps
an index, the oracle sorts.
"""

from typing import Final

NAME: Final = "oracle"
"""The check's name. Its parts are imported from their modules: the whole is needed at the end of a run only."""
