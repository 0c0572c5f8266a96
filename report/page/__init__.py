"""The pages of a run, a comparison, a campaign and a study: each is an HTML file that needs no network.

`rows.py` defines the data of a page, `pack.py` its typed arrays, `render.py` the file. `assets/` holds the templates,
the style sheet and the scripts. `vendor/` holds third-party code with its licence, version and SHA-256. `cluster.page`
makes the rows from a run.
"""
