"""The audit of the test bed: does the run's log follow from its plan?

Everything here is taken from the plan and the trace alone, and restated from the documents (docs/faults.md,
docs/faults-at-work.md, docs/invariants.md): nothing of the bus, of the machines or of the injection may enter, so that
a mistake would have to be made twice. Shared are only the tables of quantiles.

`plan` is the plan as plain data, `draws` the run's chance, `steps` what each fault has to do and when, `conditions`
what becomes of a message, `traffic` follows every message, `machines` power, pauses, work, clocks and disks, `clients`
what is handed in; `following` follows all of it and `audit` is the check. A log does not show the bytes that a disk
fault changes, and few runs have a fault in all its forms: property tests of the test bed see these (tests/properties).
"""
