"""The addresses of a machine: each is tested, and a server for this machine only has none."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from viz.server.reachable import HELP, answers, describe_addresses
from viz.state import hosts


@pytest.fixture
def port():
    """A server at 127.0.0.1 only, which answers one path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_each_address_is_tested(port):
    silent = "127.0.0.9"
    lines = describe_addresses("0.0.0.0", port, f"http://127.0.0.1:{port}", lambda: ["127.0.0.1", silent])
    assert lines[1] == f"  http://127.0.0.1:{port}  answers, in the QR code" and lines[-1] == HELP
    assert lines[2].startswith(f"  http://{silent}:{port}  does not answer (") and len(lines) == 4
    assert answers(f"http://127.0.0.1:{port}/x") == "status 404"


@pytest.mark.parametrize("host", ["127.0.0.1", "192.168.1.20", "localhost"])
def test_a_server_at_one_address_lists_none(host, port):
    assert describe_addresses(host, port, find=lambda: ["127.0.0.1"]) == []


def test_loopback_and_repeated_addresses_are_left_out(monkeypatch):
    monkeypatch.setattr(hosts, "CONTAINERS", ())
    monkeypatch.setattr(hosts, "_addresses", lambda listening: iter(["10.1.2.3", "10.1.2.3", "192.168.1.20"]))
    monkeypatch.setattr("socket.gethostbyname_ex", lambda name: (name, [], ["127.0.1.1", "192.168.1.20", "10.9.9.9"]))
    assert hosts.ipv4_addresses() == ("10.1.2.3", "192.168.1.20", "10.9.9.9")
    monkeypatch.setattr(hosts, "CONTAINERS", ("/",))
    assert hosts.ipv4_addresses() == ("10.1.2.3", "192.168.1.20")
