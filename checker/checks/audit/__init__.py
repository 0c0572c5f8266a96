"""The audit of the test bed: does the run's log follow from its plan?

The audit reads the plan and the trace alone, and restates the documents (docs/faults.md, docs/faults-at-work.md,
docs/invariants.md). It uses no code of the bus, the machines or the fault injection, so that a mistake would have to
be made twice; it shares only the tables of quantiles.

`plan` is the plan as plain data, and `draws` has the run's draws. `links` works out the fate of a message, `messages`
follows every message. `machines` follows power, pauses, work, clocks and disks, `clients` the submitted transactions.
`audited_fault` is a fault of the plan, `fault_steps` has the steps of each kind, `audit` the check. Property tests of
the test bed (tests/properties) cover the bytes that a disk fault changes, and all forms of a fault.
"""
