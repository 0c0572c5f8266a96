"""The list of runs, and the server that shows it to this machine alone."""

import errno
import http.client
import json
import os
import re
import socket
import struct
import threading
from pathlib import Path

import pytest

from checker.record.manifest import FORMAT, KIND
from cluster.cli.main import main
from cluster.page.index import index_of, write_index
from cluster.page.serving import make_server, page_at
from tests.support.pages import tags_of


def make_run(folder, name, *, scenario="calm", seed=0, headline="all is well", page=b"<p>page"):
    run = folder / name
    run.mkdir(parents=True)
    manifest = {
        "kind": KIND,
        "format": FORMAT,
        "scenario": scenario,
        "seed": seed,
        "digest": "ab" * 32,
        "verdict": "passed",
        "python": "3.11",
        "files": {},
    }
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "verdict.json").write_text(json.dumps({"headline": headline}))
    if page:
        (run / "report.html").write_bytes(page)
    return run


class TestIndex:
    def test_a_run_is_listed_with_its_page(self, tmp_path):
        make_run(tmp_path, "calm-3", seed=3)
        write_index(tmp_path)

        text = (tmp_path / "index.html").read_text()
        assert '<a href="calm-3/report.html">calm, seed 3</a>' in text
        assert "all is well" in text

    def test_a_run_without_a_page_has_no_link(self, tmp_path):
        make_run(tmp_path, "calm-3", seed=3, page=b"")

        assert b"calm, seed 3 (no page)" in index_of(tmp_path)

    def test_other_pages_are_listed_beside_the_runs(self, tmp_path):
        (tmp_path / "sweep-calm-1.html").write_text("")

        assert b'<a href="sweep-calm-1.html">sweep-calm-1</a>' in index_of(tmp_path)

    def test_what_is_no_run_and_what_is_damaged_is_left_out(self, tmp_path):
        (tmp_path / "notes").mkdir()
        (make_run(tmp_path, "calm-3") / "manifest.json").write_text("{")

        assert b"There is no run yet" in index_of(tmp_path)

    def test_a_hostile_headline_is_text(self, tmp_path):
        make_run(tmp_path, "calm-3", scenario="</td><img src=x>", headline="<script>alert(1)</script>")

        assert not {"img", "script"} & set(tags_of(index_of(tmp_path)))

    def test_an_entry_that_may_not_be_read_hides_no_other(self, tmp_path, monkeypatch):
        """A process of root may read all, so the refusal is the test's."""
        for name in ("calm-1", "calm-2", "calm-3"):
            make_run(tmp_path, name, seed=int(name[-1]))
        is_file = Path.is_file

        def refuse_second(path):
            if "calm-2" in str(path):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return is_file(path)

        monkeypatch.setattr(Path, "is_file", refuse_second)
        assert sorted(re.findall(rb"calm, seed \d", index_of(tmp_path))) == [b"calm, seed 1", b"calm, seed 3"]

    def test_it_links_to_what_is_served_and_to_nothing_else(self, tmp_path):
        """Names need not be UTF-8; folders, pipes, and links that lead elsewhere or in a circle are no pages."""
        runs = tmp_path / "runs"
        make_run(runs, os.fsdecode(b"run\xff#?%"), seed=1)
        (runs / os.fsdecode(b"page\xff .html")).write_text("<p>page")
        (make_run(runs, "calm-2", seed=2, page=b"") / "report.html").symlink_to(tmp_path / "secret.html")
        (make_run(runs, "calm-3", seed=3, page=b"") / "report.html").mkdir()
        (tmp_path / "secret.html").write_text("secret")
        (runs / "folder.html").mkdir()
        (runs / "circle.html").symlink_to("circle.html")
        (runs / "outside.html").symlink_to(tmp_path / "secret.html")
        os.mkfifo(runs / "pipe.html")

        page = index_of(runs).decode()
        links = re.findall('href="([^"]*)"', page)
        assert links == ["run%FF%23%3F%25/report.html", "page%FF%20.html"]
        assert [page_at(runs, f"/{link}") for link in links] == [b"<p>page"] * 2
        assert page.count("(no page)") == 2


class TestPageAt:
    def test_only_pages_are_served(self, tmp_path):
        make_run(tmp_path, "calm-3")

        assert page_at(tmp_path, "/calm-3/report.html") == b"<p>page"
        assert page_at(tmp_path, "/?a=b") == index_of(tmp_path)
        assert page_at(tmp_path, "/calm-3/verdict.json") is None

    @pytest.mark.parametrize("address", ["/../secret.html", "/%2e%2e/secret.html", "/link.html", "/.hidden.html"])
    def test_no_path_leads_out_of_the_folder(self, address, tmp_path):
        runs = tmp_path / "runs"
        runs.mkdir()
        for place in (tmp_path / "secret.html", runs / ".hidden.html"):
            place.write_text("secret")
        (runs / "link.html").symlink_to(tmp_path / "secret.html")

        assert page_at(runs, address) is None

    @pytest.mark.parametrize(
        "address", ["http://[", "//[", "*", "", "/%00.html", "/circle.html", "/circle/report.html"]
    )
    def test_an_address_that_is_none_has_no_page(self, address, tmp_path):
        for name in ("circle", "circle.html"):
            (tmp_path / name).symlink_to(name)

        assert page_at(tmp_path, address) is None


@pytest.fixture
def served(tmp_path):
    make_run(tmp_path, "calm-3")
    server = make_server(tmp_path, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def ask(port, method, path, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def raw(port, request):
    """Return the answer to a request that no client library would send."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def leave(port, request):
    """Send a request, and reset the connection once an answer begins, if one does."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(request)
    if request.endswith(b"\r\n\r\n"):
        connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class TestServer:
    def test_it_answers_with_pages_and_refuses_all_else(self, served):
        assert ask(served, "GET", "/calm-3/report.html") == (200, b"<p>page")
        assert ask(served, "HEAD", "/") == (200, b"")
        assert ask(served, "GET", "/nothing.html")[0] == 404
        assert ask(served, "POST", "/")[0] == 501

    def test_it_answers_to_no_other_name(self, served):
        assert ask(served, "GET", "/", "attacker.example:80")[0] == 403
        assert ask(served, "GET", "/", f"localhost:{served}")[0] == 200

    @pytest.mark.parametrize("host", ["127.0.0.1:8@evil.com", "localhost:", "localhost.evil.com", "x@localhost:80", ""])
    def test_what_only_looks_like_its_name_is_another(self, served, host):
        assert raw(served, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").startswith(b"HTTP/1.0 403 ")

    def test_one_name_is_given_and_not_two(self, served):
        hosts = "Host: localhost\r\nHost: evil.com\r\n"
        assert raw(served, f"GET / HTTP/1.1\r\n{hosts}\r\n").startswith(b"HTTP/1.0 403 ")

    @pytest.mark.parametrize("address", ["//[", "http://[/", "/circle.html", "/%ff.html", "*"])
    def test_an_address_that_is_none_is_answered_without_a_word(self, served, tmp_path, address, capfd):
        (tmp_path / "circle.html").symlink_to("circle.html")
        answer = raw(served, f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n")

        assert answer.startswith(b"HTTP/1.0 404 ")
        assert capfd.readouterr().err == ""

    def test_a_client_that_goes_away_is_no_news(self, served, tmp_path, capfd):
        """Before its request is whole, and before it has read a page."""
        (tmp_path / "large.html").write_bytes(b"x" * (1 << 24))
        for request in (b"GET /lar", b"GET /large.html HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            leave(served, request)

        assert ask(served, "GET", "/calm-3/report.html")[0] == 200
        assert capfd.readouterr().err == ""

    def test_what_nobody_foresaw_is_one_line(self, served, monkeypatch, capfd):
        def burst(*_arguments):
            raise ZeroDivisionError("so\nit goes")

        monkeypatch.setattr("cluster.page.serving.page_at", burst)
        assert raw(served, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""
        assert capfd.readouterr().err == "no answer: ZeroDivisionError: so it goes\n"


def test_serve_refuses_a_folder_that_is_not_there(tmp_path, capsys):
    assert main(["serve", "--runs", str(tmp_path / "none")]) == 2
    assert "is no folder; a run makes it" in capsys.readouterr().err
