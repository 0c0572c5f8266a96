"""Kinds of faults: a class for each kind, with its parameters and everything about them.

A file holds a kind, or a small family such as the disk faults. Each kind is a subclass of `faults.kinds.base.Fault`
with its rules, sentence, draws, injection and promised coverage points. Rules across faults belong in `faults.plan`,
shared effects on links or machines in `faults.injection`. `registry` finds every class of this folder.
"""
