"""Pages of a folder of runs over HTTP: on the loopback address, read only, pages and nothing else.

A request is answered only if it names this host, so that no other site's script can reach in by a name of its own; and
only with the list of runs, a page beside them, or a run's page. No path leads out of the folder, by links neither.
"""

from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from checker.record.manifest import REPORT
from cluster.page.index import INDEX, index_of

LOOPBACK: Final = "127.0.0.1"

HOSTS: Final = (LOOPBACK, "localhost")
"""Names of this host that a request may give."""


def make_server(runs: Path, port: int) -> ThreadingHTTPServer:
    """Return a server that waits for nothing yet; port 0 is any free one. Raises OSError where the port is taken."""
    return ThreadingHTTPServer((LOOPBACK, port), partial(PageHandler, runs=runs))


class PageHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD; every other method is refused by the base."""

    def __init__(self, *arguments: Any, runs: Path) -> None:  # noqa: ANN401 - as the base takes them
        self._runs = runs
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Send a page."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send the head of a page."""
        self._answer(with_body=False)

    def log_message(self, *_: object) -> None:
        """Say nothing: standard error is for what went wrong."""

    def _answer(self, *, with_body: bool) -> None:
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
        if host not in HOSTS:
            self.send_error(HTTPStatus.FORBIDDEN, "this server answers to its loopback address only")
            return
        try:
            content = page_at(self._runs, self.path)
        except OSError:
            content = None
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND, "no such page")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(content)


def page_at(runs: Path, address: str) -> bytes | None:
    """Return the page at the path of an address, None where there is none; raises OSError."""
    parts = [part for part in unquote(urlsplit(address).path).split("/") if part]
    if parts in ([], [INDEX]):
        return index_of(runs)
    is_run = len(parts) == 2 and parts[1] == REPORT
    is_page = len(parts) == 1 and parts[0].endswith(".html")
    if not (is_run or is_page) or any(part.startswith(".") or "\0" in part for part in parts):
        return None
    path = runs.joinpath(*parts).resolve()
    return path.read_bytes() if path.is_relative_to(runs.resolve()) and path.is_file() else None
