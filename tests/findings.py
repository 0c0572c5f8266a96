"""The page docs/findings.md and its pictures: `python -m tests.findings` runs every study in full and writes them.

Trials that runs/ has from this code are not run again. `python -m tests.findings NAME...` writes the parts of these
studies anew, and keeps the other parts. A picture is the first plot of the study's own page, in the machine's browser.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from checker.record.root import PROJECT_ROOT
from cluster.studies.load import load_study, study_files
from tests.support.browser import browser

FINDINGS = PROJECT_ROOT / "docs" / "findings.md"
PICTURES = PROJECT_ROOT / "docs" / "studies"
RUNS = PROJECT_ROOT / "runs"

HEAD = """\
# Findings

The answers of the studies to the questions that the proposals leave to simulation. [studies.md](studies.md) says how a
study works, and [choosing-parameters.md](choosing-parameters.md) what follows for a new chain. Figures are means over
seeds; brackets are 95 % intervals. `python -m tests.findings` writes this page from the studies; do not edit it.
"""

UNANSWERED = """\
## Not simulated

*Interaction with CIP-1 GBA: the GBA simply becomes the source of the bid parameter* (CIP-5, section 9.9). This is no
question of quantity. An agent answers once, when the timer is scheduled, and its answer is the bid. The policy
`bias-auction` does so ([bias-auction.md](bias-auction.md)), and the oracle judges it.
"""

WIDTH, SCALE = 720, 2


def answer_of(name):
    """Run a study in full; return its answer as data."""
    command = [sys.executable, "run_cluster.py", "study", name, "--json", "--runs", str(RUNS)]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode() or done.stdout.decode()
    return msgspec.json.decode(done.stdout)


def take(name):
    """Write the picture of a study: the first plot of its page."""
    context = browser().new_context(
        viewport={"width": WIDTH, "height": 600}, device_scale_factor=SCALE, color_scheme="light", bypass_csp=True
    )
    try:
        tab = context.new_page()
        tab.goto((RUNS / f"study-{name}.html").as_uri())
        plot = tab.locator("#plots .needs-js:has([data-plot='0'])").last
        plot.wait_for()
        PICTURES.mkdir(exist_ok=True)
        plot.screenshot(path=PICTURES / f"{name}.png")
    finally:
        context.close()


def part_of(name):
    """Return the part of a study on the page."""
    study, answer = load_study(name).study, answer_of(name)
    take(name)
    quoted = " ".join(study.question.split())
    lines = [
        f"## {study.title}",
        "",
        f"> {quoted} ({study.place})",
        "",
        f"`run_cluster.py study {name}`: {study.answer.strip()}",
        "",
    ]
    lines += [f"- {row['status']}: {row['sentence']}" for row in answer["findings"]]
    facts = answer["facts"]
    code = re.search(r"code (\w+)", facts["code"])[1]
    lines += [
        "",
        f"Limits: {' '.join(study.limits.split())}",
        "",
        f"{facts['trials']}; {facts['blocks']}; code {code}.",
        "",
    ]
    return "\n".join([*lines, f"![{study.title}](studies/{name}.png)", ""])


def parts_there():
    """Return the parts of the page as it is, by study."""
    if not FINDINGS.exists():
        return {}
    parts = re.split(r"^(?=## )", FINDINGS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        if named := re.search(r"^`run_cluster.py study ([\w-]+)`", part, re.MULTILINE):
            found[named[1]] = part
    return found


def main(names):
    """Write the page with new parts of the named studies, or of all."""
    parts = parts_there()
    for name in names or study_files():
        parts[name] = part_of(name)
        sys.stdout.write(f"{name}\n")
        _write(parts)


def _write(parts):
    ordered = [parts[name].rstrip() + "\n" for name in study_files() if name in parts]
    text = "\n".join([HEAD, *ordered, UNANSWERED])
    with tempfile.NamedTemporaryFile("w", dir=FINDINGS.parent, encoding="utf-8", delete=False) as file:
        file.write(text)
    Path(file.name).replace(FINDINGS)
    FINDINGS.chmod(0o644)


if __name__ == "__main__":
    main(sys.argv[1:])
