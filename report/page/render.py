"""Pages as files: templates with autoescape, inline scripts and styles, and a content policy that allows nothing else.

The content policy allows only the hashes of the page's script and style sheet. So a browser runs no script in a name of
the data, and no request leaves the page. Data reaches the script only through the packed block.
"""

import base64
import hashlib
import json
import math
import re
from array import array
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from report.page.campaign_rows import CampaignRows, IndexRow
from report.page.pack import pack
from report.page.rows import CurveRows, RunDifference, RunRows
from report.page.study_rows import SpreadRow, StudyRows, describe_spread
from report.words import result_of

_HERE: Final = Path(str(files("report.page")))
ASSETS: Final = _HERE / "assets"
UPLOT: Final = _HERE / "vendor" / "uplot"

PAGE_BYTES_MAX: Final = 3 * 1024 * 1024
"""Greatest size of a page in bytes."""

SCRIPTS: Final = (
    "data.js",
    "state.js",
    "paint.js",
    "matrix.js",
    "overview.js",
    "curve.js",
    "replicas.js",
    "tree.js",
    "storm.js",
    "list.js",
    "main.js",
)
"""The own scripts of a run's page, in their order on the page."""

STUDY_SCRIPTS: Final = ("data.js", "paint.js", "study.js")
"""The own scripts of a study's page, in their order on the page."""

LOG_FACTOR: Final = 20
"""A horizontal axis whose values span more than this factor is logarithmic."""

_NUMBER: Final = re.compile(r"[-+]?([0-9]{1,3}([,_][0-9]{3}){1,4}|[0-9]{1,15})(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")
"""A label that is a finite number, with or without separators of thousands."""


class _Inline:
    """A script or style sheet as text for the page, and its source in the content policy."""

    def __init__(self, text: str) -> None:
        self.text: Final = Markup(text)  # noqa: S704 - our own file, never data
        digest = hashlib.sha256(text.encode()).digest()
        self.source: Final = f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # A file name need not be UTF-8; its address encodes the bytes of the name.
    environment.filters["urlencode"] = lambda name: quote(name.encode(errors="surrogateescape"))
    environment.filters["result"] = result_of
    environment.filters["spread"] = describe_spread
    return environment


@cache
def _script(names: tuple[str, ...]) -> _Inline:
    own = "".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
    return _Inline(
        f"{(UPLOT / 'uPlot.iife.min.js').read_text(encoding='utf-8')}\n(function () {{\n'use strict';\n{own}}})();\n"
    )


@cache
def _style(*names: str) -> _Inline:
    """Return the style sheet of all pages, with further sheets of the assets."""
    sheets = (UPLOT / "uPlot.min.css", ASSETS / "page.css", *(ASSETS / name for name in names))
    return _Inline("".join(sheet.read_text(encoding="utf-8") for sheet in sheets))


def run_page(
    runs: Sequence[RunRows], difference: RunDifference | None = None, *, names: Sequence[str] = ("",)
) -> bytes:
    """Return the page of one run, or of two runs side by side with their difference."""
    return _render(
        "run.html",
        runs=runs,
        names=names,
        difference=difference,
        packed=[_packed(run) for run in runs],
        script=_script(SCRIPTS),
    )


def index_page(rows: Sequence[IndexRow], others: Sequence[IndexRow] = (), note: str = "") -> bytes:
    """Return the page that lists runs and further pages."""
    return _render("index.html", rows=rows, others=others, note=note)


def campaign_page(rows: CampaignRows) -> bytes:
    """Return the page of a campaign."""
    return _render("campaign.html", campaign=rows)


def study_page(rows: StudyRows) -> bytes:
    """Return the page of a study."""
    plots = _packed_plots(rows)
    return _render("study.html", "study.css", study=rows, packed=plots, script=_script(STUDY_SCRIPTS))


def _render(template: str, *sheets: str, **values: object) -> bytes:
    page = _environment().get_template(template).render(style=_style(*sheets), **values)
    return page.encode(errors="backslashreplace")


def _packed(run: RunRows) -> Markup:
    tree, matrix, storm, line = run.tree, run.matrix, run.storm, run.timeline
    head = {
        "name": f"{run.scenario} seed {run.seed}",
        "end": line.end_us,
        "viewWord": run.view_word,
        "rows": [[row.name, row.short] for row in matrix.rows],
        "replicas": sum(1 for _ in run.replicas),
        "heights": matrix.heights,
        "perTile": matrix.heights_per_tile,
        "divergence": (run.finding and run.finding.height) or matrix.first_divergence,
        "roots": matrix.names,
        "hasOracle": matrix.has_oracle,
        "kinds": line.kinds,
        "titles": line.titles,
        "lives": line.lives,
        "apart": line.apart,
        "faults": [
            [fault.name, fault.sentence, list(fault.targets), list(fault.windows), list(fault.sides)]
            for fault in run.faults
        ],
        "digests": tree.digests,
        "refusals": {str(number): reason for number, reason in tree.refusals.items()},
        "arcs": tree.arcs,
        "treeRows": tree.rows,
        "budgets": storm.budgets if storm else None,
        "curve": run.curve and _drawn_curve(run.curve),
        "waits": list(storm.waits) if storm else [],
        "waitUnit": storm.wait_unit if storm else "",
    }
    arrays: dict[str, array[int] | array[float]] = {"density": line.density}
    arrays["cells"] = array("B", b"".join(row.cells for row in matrix.rows))
    arrays["cell_root"] = array("I", (root for row in matrix.rows for root in row.roots))
    arrays["cell_ms"] = array("I", (at_ms for row in matrix.rows for at_ms in row.times))
    arrays |= {"fact_proposer": matrix.proposers, "fact_transactions": matrix.transactions}
    arrays["fact_timers"] = matrix.timers
    arrays |= {f"mark_{name}": values for name, values in line.marks.arrays.items()}
    arrays |= {f"message_{name}": values for name, values in line.messages.arrays.items()}
    arrays |= {f"block_{name}": values for name, values in tree.columns.arrays.items()}
    if storm:
        arrays |= {f"storm_{name}": values for name, values in storm.columns.arrays.items()}
        arrays |= {f"wait_{index}": values for index, values in enumerate(storm.waits.values())}
    return Markup(pack(json.loads(json.dumps(head)), arrays))  # noqa: S704 - base64 has no letter that HTML reads


def _drawn_curve(curve: CurveRows) -> dict[str, object]:
    """Return what the page draws of the curves: the strips that have points, and the moments of draws."""
    drawn = [strip for strip in curve.strips if strip.points]
    strips = [[strip.title, strip.rise, [point[1:] for point in strip.points]] for strip in drawn]
    return {"strips": strips, "moments": curve.moments, "window": curve.window}


def _packed_plots(rows: StudyRows) -> Markup:
    plots: list[dict[str, object]] = []
    arrays: dict[str, array[int] | array[float]] = {}
    for at, plot in enumerate(rows.plots):
        scale, places = _places_of(plot.x)
        order = sorted(range(len(places)), key=places.__getitem__)
        series = [(each.name, [each.spreads[place] for place in order]) for each in plot.series]
        plots.append(
            {
                "scale": scale,
                "xName": plot.x_name,
                "x": [plot.x[place] for place in order],
                "names": [name for name, _ in series],
                "texts": [list(map(describe_spread, spreads)) for _, spreads in series],
            }
        )
        arrays[f"x_{at}"] = array("d", (places[place] for place in order))
        for number, (_, spreads) in enumerate(series):
            for part, field in enumerate(SpreadRow._fields):
                arrays[f"{field}_{at}_{number}"] = array("d", (_drawn(spread)[part] for spread in spreads))
    return Markup(pack({"plots": plots}, arrays))  # noqa: S704 - base64 has no letter that HTML reads


def _drawn(spread: SpreadRow | None) -> tuple[float, ...]:
    """Return what the page draws of a spread: NaN stands for nothing, because an array holds numbers alone."""
    return spread if spread and all(map(math.isfinite, spread)) else (math.nan,) * len(SpreadRow._fields)


def _places_of(labels: Sequence[str]) -> tuple[str, list[float]]:
    """Return the scale of a horizontal axis, and the place of each label on it.

    Numbers stand at their values: on a logarithmic scale if they are above 0 and span more than `LOG_FACTOR`. If a
    label is no number or two labels are one number, the labels stand at equal distances in their order.
    """
    values = [float(label.replace(",", "")) for label in labels if _NUMBER.fullmatch(label)]
    if len(dict.fromkeys(values)) < len(labels):
        return "ordinal", [float(place) for place in range(len(labels))]
    is_log = bool(values) and min(values) > 0 and max(values) > LOG_FACTOR * min(values)
    return "log" if is_log else "linear", values
