"""The command open: one or two files of attention weights as a page of this computer, or as an HTML file."""

from __future__ import annotations

import http.client
import threading

import numpy as np
import pytest

from model import GivenAttention
from model.__main__ import main
from model.readings.heads.head_maps import rollout
from tests.support.attention_helpers import patterns
from tests.support.command_line_helpers import fails
from viz.given_attention import heads, open_command
from viz.given_attention.attention_page import PageOptions, page

TOKENS = ["[CLS]", "the", "dog", "[SEP]"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.npz"
    GivenAttention.of(patterns(2, 3, 4, 4), TOKENS).save(path)
    return path


def test_html_file_is_the_page_of_the_library(file, tmp_path, capsys):
    out = tmp_path / "a.html"
    assert main(["open", str(file), "--out", str(out), "--head", "encoder-2-3"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_bytes() == heads(patterns(2, 3, 4, 4), TOKENS, name="a", head=("encoder", 1, 2)).file


def test_two_files_of_one_name_are_named_by_their_paths(file, tmp_path):
    other = tmp_path / "other" / "a.npz"
    other.parent.mkdir()
    GivenAttention.of(patterns(2, 3, 4, 4, seed=1), TOKENS).save(other)
    assert [attention.name for attention in open_command.read_files([file, other])] == [str(file), str(other)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.npz"], "missing.npz"),
        (["FILE", "FILE", "FILE"], "There are 3 models; expected 1 or 2."),
        (["FILE", "--head", "encoder-0-1"], "the head is 'encoder-0-1'; expected a kind, a layer and a head"),
        (["FILE", "--head", "encoder-1-4"], "There is no encoder head 0.3; expected layer 0 to 1 and head 0 to 2."),
        (["FILE", "--out", "FILE"], "is there already"),
        (["FILE", "--port", "99999"], "the port is '99999'; expected a number from 0 to 65535"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments, message, file, capsys):
    assert message in fails(capsys, "open", *(str(file) if each == "FILE" else each for each in arguments))


@pytest.fixture
def ask(file):
    """Returns a function that sends a GET request to a running server, and returns status and body."""
    attentions = open_command.read_files([file])
    running = open_command.server(attentions, page(attentions, PageOptions(is_served=True)))
    thread = threading.Thread(target=running.serve_forever)
    thread.start()

    def send(path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*running.server_address)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    yield send
    running.shutdown()
    running.server_close()
    thread.join()


def test_server_sends_the_page_and_any_head(ask):
    status, text = ask("/")
    assert status == 200 and b"connect-src &#x27;self&#x27;" not in text and b"connect-src 'self'" in text
    status, weights = ask("/head?file=0&kind=encoder&index=4")
    np.testing.assert_array_equal(np.frombuffer(weights, "<f4").reshape(4, 4), patterns(2, 3, 4, 4)[1, 1])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("combine=mean&layer=1&head=", lambda all_heads: all_heads[1].mean(0)),
        ("combine=mean&layer=&head=2", lambda all_heads: all_heads[:, 2].mean(0)),
        ("combine=max&layer=&head=", lambda all_heads: all_heads.max((0, 1))),
        ("combine=rollout&layer=1&head=", lambda all_heads: rollout(all_heads)[1]),
    ],
)
def test_server_sends_maps_of_several_heads(ask, query, expected):
    status, weights = ask(f"/combined?file=0&kind=encoder&{query}")
    assert status == 200
    expected = expected(patterns(2, 3, 4, 4))
    np.testing.assert_allclose(np.frombuffer(weights, "<f4").reshape(4, 4), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("path", ["/a.npz", "/head", "/head?file=0&kind=cross&index=0", "/head?file=0&kind=encoder&index=6"])
def test_server_sends_nothing_else(ask, path):
    assert ask(path) == (404, b"")
    assert ask("/head?file=1&kind=encoder&index=0") == ask("/head?file=0&kind=encoder&index=-1") == (404, b"")
    for query in (
        "combine=sum&layer=&head=",
        "combine=rollout&layer=&head=",
        "combine=mean&layer=2&head=",
        "combine=mean&layer=0",
    ):
        assert ask(f"/combined?file=0&kind=encoder&{query}") == (404, b"")


def test_server_answers_this_computer_only(ask):
    assert ask("/", Host="example.org") == (403, b"")
