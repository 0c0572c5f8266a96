"""The audit of the test bed: does the run's log follow from its plan?

Everything here comes from the plan and the trace alone, and restates the documents (docs/faults.md,
docs/faults-at-work.md, docs/invariants.md). Nothing of the bus, the machines or the injection may enter, so that a
mistake would have to be made twice. Shared are only the tables of quantiles.

`plan` is the plan as plain data, `draws` the run's chance, `links` the fate of a message, `messages` follows every
message, `machines` power, pauses, work, clocks and disks, `clients` the transactions that are handed in. `fault_steps`
has the steps of each fault, and `audit` the check. A log does not show the bytes that a disk fault changes, and few
runs have a fault in all its forms: property tests of the test bed see both (tests/properties).
"""
