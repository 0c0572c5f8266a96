"""Chained HotStuff as a state machine without input or output, with the commit rules of three and of two blocks.

`engine` decides. Separate files hold the blocks and the commit rule (`tree`), own votes and the rules for them
(`casting`), verified votes and timeouts (`tally`), the check of incoming messages (`screening`), the seal of a block
(`sealing`), the proof of finality (`finality`), and the journal with the state it leads to (`journal`).

Everything that only HotStuff knows is in this folder. `kind.HOTSTUFF` is its public description, by the types of
`validators.consensus.interface`. The folder imports only that interface, headers, quorums and signature schemes.
"""
