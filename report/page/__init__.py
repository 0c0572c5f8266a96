"""The page of a run, of a comparison and of a campaign: one HTML file each, which asks nothing of any network.

`rows.py` is what a page is drawn from, `pack.py` its data as typed arrays, `render.py` the file. `assets/` holds the
templates, the style sheet and the scripts; `vendor/` what others wrote, with its licence, version and SHA-256. Nothing
in here knows what a run is; `cluster.page` makes the rows.
"""
