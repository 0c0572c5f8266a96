"""The page of a run: what a run directory holds, as the rows that `report.page` draws.

Reads records, scenarios and explanations, and nothing of a run that goes on; it judges nothing. What a pane leaves out
is said in the pane's note. Writing the files is `write.py`'s; a campaign's page is made of its results alone.
"""
