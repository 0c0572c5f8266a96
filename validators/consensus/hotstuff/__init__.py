"""Chained HotStuff as a state machine without input or output, with the commit rules of three and of two blocks.

`engine` decides. Files of their own have the blocks and the commit rule (`tree`), own votes and the rules for them
(`casting`), votes of others (`tally`), the choice of messages that are worth their verification (`screening`), the seal
of a block (`sealing`), the proof that one is final (`finality`), and the journal with what it leads to (`journal`).

Everything that only HotStuff knows stands here; `kind.HOTSTUFF` says what others may know of it, by the types of
`validators.consensus.interface`. Nothing outside comes in but that interface, headers, quorums and signature schemes.
"""
