"""Which names the lab answers to."""

import socket

import pytest

from viz.state import hosts
from viz.state.hosts import check_host, check_origin, is_allowed_host, is_from_elsewhere, own_names

NAMES = own_names("127.0.0.1", "lab.example, Attention.Example:8501")


def run(app, scope) -> list[dict]:
    """What an app sends back; by hand, for the browser tests' event loop may be about."""
    sent = []

    async def send(message):
        sent.append(message)

    with pytest.raises(StopIteration):
        app(scope, None, send).send(None)
    return sent


async def welcome(scope, receive, send):
    await send({"type": "let in"})


def test_own_names_and_programs_without_an_origin_are_let_in():
    let_in = "localhost:8501 127.0.0.1:8501 [::1]:8501 192.168.1.20:8501 LAB.example attention.example:80 a.localhost"
    for host in (*let_in.split(), socket.gethostname()):
        assert is_allowed_host(host, NAMES), host
    scope = {"type": "websocket", "scheme": "ws", "headers": [(b"host", b"hall.local:8501")]}
    assert run(check_origin(welcome), scope) == [{"type": "let in"}]


FOREIGN = "evil.com evil.com:8501 127.0.0.1.evil.com localhost.evil.com [evil.com] <b> 1.2.3.4%evil.com [::1%evil.com]"
FOREIGN += " [::1]evil.com localhost:8501@evil.com 127.0.0.1:x 127.0.0.1:99999 evil.com/.localhost evil.com#a.localhost a:"


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_another_name_is_turned_away_with_what_to_do(kind):
    for host in ("", *FOREIGN.split()):
        scope = {"type": kind, "headers": [(b"host", host.encode()), (b"origin", b"http://" + host.encode())]}
        first, *others = run(check_host(welcome, NAMES), scope)
        if kind == "websocket":
            assert first["type"] == "websocket.close", host
        else:
            assert first["status"] == 400, host
            assert b"ALLOWED_HOSTS=" in others[0]["body"] and b"<" not in others[0]["body"]
    known = {"type": kind, "headers": [(b"host", b"localhost:1")]}
    assert run(check_host(welcome, NAMES), known) == [{"type": "let in"}]


OWN = (
    ("http://hall.local:8501", "hall.local:8501", "http"),
    ("https://lab.example", "lab.example:443", "https"),
    ("http://lab.example", "lab.example", "http"),
    ("http://[::1]:8501", "[::1]:8501", "http"),
)
NOT_OWN = (
    ("http://elsewhere.example", "hall.local:8501", "http"),
    ("http://hall.local:9999", "hall.local:8501", "http"),
    ("http://localhost", "127.0.0.1:8501", "http"),
    ("https://127.0.0.1:8504", "127.0.0.1:8504", "http"),
    ("http://127.0.0.1:8504", "127.0.0.1:8504", "https"),
    ("x://127.0.0.1:8504", "127.0.0.1:8504", "x"),
    ("http://127.0.0.1:8504/", "127.0.0.1:8504", "http"),
    ("http://a@127.0.0.1:8504", "127.0.0.1:8504", "http"),
    ("127.0.0.1:8504", "127.0.0.1:8504", "http"),
    ("null", "hall.local:8501", "http"),
    ("", "hall.local:8501", "http"),
)


@pytest.mark.parametrize(("origin", "host", "scheme"), OWN + NOT_OWN)
def test_origins_are_compared_by_scheme_host_and_port(origin, host, scheme):
    seen = {}

    async def app(scope, receive, send):
        seen.update(scope["headers"])

    is_own = (origin, host, scheme) in OWN
    headers = [(b"host", host.encode()), (b"origin", origin.encode()), (b"cookie", b"a=b")]
    page = {"type": "http", "scheme": scheme, "headers": headers}
    stream = {"type": "websocket", "scheme": scheme.replace("http", "ws"), "headers": headers}
    assert is_from_elsewhere(page) is not is_own
    answer = run(check_origin(app), stream)
    if is_own:  # Streamlit gets an origin that it knows
        assert (answer, seen) == ([], {b"host": host.encode(), b"origin": b"http://localhost", b"cookie": b"a=b"})
    else:
        assert (answer, seen) == ([{"type": "websocket.close", "code": 1008}], {})


def test_a_page_of_lab_address_is_one_of_this_lab(monkeypatch, caplog):
    headers = [(b"host", b"lab.example.org"), (b"origin", b"https://lab.example.org")]
    behind_a_proxy = {"type": "websocket", "scheme": "ws", "headers": headers}
    assert is_from_elsewhere(behind_a_proxy)
    assert "LAB_ADDRESS=https://lab.example.org" in caplog.text
    monkeypatch.setattr(hosts, "_shared", "https://lab.example.org")
    assert not is_from_elsewhere(behind_a_proxy)
    other = {**behind_a_proxy, "headers": [(b"host", b"192.168.1.20:8501"), headers[1]]}
    assert is_from_elsewhere(other)


@pytest.mark.parametrize(
    ("host", "wanted", "found"),
    [
        ("127.0.0.1", "", None),
        ("localhost", "", None),
        ("::1", "", None),
        ("192.168.1.20", "", "http://192.168.1.20:8501"),
        ("hall.local", "", "http://hall.local:8501"),
        ("2001:db8::5", "", "http://[2001:db8::5]:8501"),
        ("0.0.0.0", "", "http://10.1.2.3:8501"),
        ("0.0.0.0", "https://Lab.example.org/", "https://lab.example.org"),
        ("127.0.0.1", "http://192.168.1.9:80", "http://192.168.1.9:80"),
    ],
)
def test_the_lab_knows_where_others_find_it(monkeypatch, host, wanted, found):
    monkeypatch.setattr(hosts, "_addresses", lambda listening: iter(["10.1.2.3", "172.17.0.1"]))
    assert hosts.share(host, 8501, wanted) == hosts.shared_address() == found
    shown = hosts.address_for_others("http", "localhost:8501"), hosts.address_for_others("https", "lab.example.org")
    assert shown == (found, "https://lab.example.org")
    if found:
        assert is_allowed_host(found.partition("://")[2], own_names(host, wanted and found.partition("://")[2]))
    else:
        assert "HOST=0.0.0.0" in hosts.sharing_help()


def test_the_network_address_is_found_silently(monkeypatch):
    monkeypatch.setattr(hosts, "CONTAINERS", ())
    for method in ("send", "sendto"):
        monkeypatch.setattr(socket.socket, method, lambda *args: pytest.fail("something was sent"))
    for found in hosts._addresses("0.0.0.0"):
        with socket.socket() as own:
            own.bind((found, 0))  # another machine's cannot be listened on
        assert not hosts.is_this_machine(found)


def test_a_container_needs_a_lab_address(monkeypatch, tmp_path):
    monkeypatch.setattr(hosts, "CONTAINERS", (tmp_path,))
    assert hosts.share("0.0.0.0", 8501) is None
    assert "LAB_ADDRESS" in hosts.sharing_help()


def test_a_bad_lab_address_is_one_sentence():
    for wanted in ("lab.example.org", "ftp://a", "http://", "http://a/b", "http://a@b", "http://a:x", "http://é"):
        with pytest.raises(
            ValueError, match=r"LAB_ADDRESS is .*; expected what others type, such as http://192\.168\.1\.20"
        ):
            hosts.share("0.0.0.0", 8501, wanted)
