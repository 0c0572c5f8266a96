"""Kinds of faults: one class a kind, its parameters and everything about them.

A file holds one kind, or a family as small as the disk faults. What enters: a subclass of `faults.kinds.base.Fault`
with its rules, sentence, draws, injection and promised cells. What may not: rules across faults (`faults.plan`), what
several kinds do to links or machines (`faults.injection`). `registry` finds every class of this folder by itself.
"""
