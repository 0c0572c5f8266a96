"""Pages of a folder of runs over HTTP: on the loopback address, read only, pages and nothing else.

A request is answered only if it names this host, so that no other site's script can reach in by a name of its own; and
only with the list of runs, a page beside them, or a run's page. No path leads out of the folder, by links neither.
"""

import os
import re
import sys
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from checker.record.errors import on_one_line
from checker.record.plain_files import UnsuitableFileError, read_plain
from cluster.page.index import INDEX, find_page, index_of

LOOPBACK: Final = "127.0.0.1"

SERVED_BYTES_MAX: Final = 64 * 1024 * 1024
"""No page that is sent is longer; those of this program are far below."""

_HOST: Final = re.compile(rf"({re.escape(LOOPBACK)}|localhost)(:[0-9]{{1,5}})?")
"""Names of this host that a request may give, with any port: a tunnel has one of its own."""


class _PageServer(ThreadingHTTPServer):
    """A server that prints no traceback: a client that goes away is none, and anything else is one line."""

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - as the base has it
        """Say what went wrong."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            sys.stderr.write(f"no answer: {on_one_line(f'{type(error).__name__}: {error}')}\n")


def make_server(runs: Path, port: int) -> ThreadingHTTPServer:
    """Return a server that waits for nothing yet; port 0 is any free one. Raises OSError where the port is taken."""
    return _PageServer((LOOPBACK, port), partial(PageHandler, runs=runs))


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
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
            self.send_error(HTTPStatus.FORBIDDEN, "this server answers to its loopback address only")
            return
        try:
            content = page_at(self._runs, self.path)
        except (UnsuitableFileError, OSError):
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
    """Return the page at the path of an address, None where there is none; raises UnsuitableFileError or OSError."""
    if not address.startswith("/"):
        return None
    path = unquote_to_bytes(re.split("[?#]", address, maxsplit=1)[0])
    parts = [os.fsdecode(part) for part in path.split(b"/") if part]
    if parts in ([], [INDEX]):
        return index_of(runs)
    page = find_page(runs, *parts)
    return None if page is None else read_plain(page, SERVED_BYTES_MAX)
