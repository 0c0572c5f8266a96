"""The list of runs, and the server that shows it to this machine alone."""

import http.client
import json
import threading

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


class TestServer:
    def test_it_answers_with_pages_and_refuses_all_else(self, served):
        assert ask(served, "GET", "/calm-3/report.html") == (200, b"<p>page")
        assert ask(served, "HEAD", "/") == (200, b"")
        assert ask(served, "GET", "/nothing.html")[0] == 404
        assert ask(served, "POST", "/")[0] == 501

    def test_it_answers_to_no_other_name(self, served):
        assert ask(served, "GET", "/", "attacker.example:80")[0] == 403
        assert ask(served, "GET", "/", f"localhost:{served}")[0] == 200


def test_serve_refuses_a_folder_that_is_not_there(tmp_path, capsys):
    assert main(["serve", "--runs", str(tmp_path / "none")]) == 2
    assert "is no folder; a run makes it" in capsys.readouterr().err
