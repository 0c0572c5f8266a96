"""The commands that read what a run left behind: its log, its state, its pages, its proofs."""
