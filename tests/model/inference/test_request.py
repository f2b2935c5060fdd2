from __future__ import annotations

import dataclasses

import pytest

from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.request import MAX_PAD, Request, RequestError


def test_requests_are_keys():
    one, two = Request("The fox."), Request("The fox.")
    assert one == two
    assert hash(one) == hash(two)
    different = [
        Request("The fox"),
        Request("The fox.", checkpoint="other"),
        Request("The fox.", target="Lo varun."),
        Request("The fox.", prefix="Lo"),
        Request("The fox.", other_sentences=("A lamp.",)),
        Request("The fox.", branches=((5, 6),)),
        Request("The fox.", path=(5,)),
        Request("The fox.", second="A lamp."),
        Request("The fox.", pad=1),
        Request("The fox.", mode="again"),
        Request("The fox.", decoding=Decoding(limit=5)),
        Request("The fox.", intervention=Intervention(causal_mask=False)),
    ]
    assert len({one, *different}) == 1 + len(different) == 1 + len(dataclasses.fields(Request))
    with pytest.raises(dataclasses.FrozenInstanceError, match="source"):
        one.source = "x"


@pytest.mark.parametrize("blank", ["", " ", "\n\t  ", "\u00a0"])
def test_an_empty_box_is_told(blank):
    with pytest.raises(RequestError, match=r"^The sentence is empty: type one.$"):
        Request(blank)
    with pytest.raises(RequestError, match=r"^The target is empty: give a translation, or leave it to the model.$"):
        Request("The fox.", target=blank)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "both"}, "^The mode is 'both'; expected 'given' or 'again'.$"),
        ({"pad": -1}, f"^The padding is -1 tokens; expected 0 to {MAX_PAD}.$"),
        ({"pad": MAX_PAD + 1}, f"^The padding is {MAX_PAD + 1} tokens; expected 0 to {MAX_PAD}.$"),
        ({"target": "Lo.", "prefix": "Lo"}, "^Both a target and a prefix are given; expected one of the two.$"),
        ({"source": "half a \ud83e"}, r"^The text has U\+D83E in it, which is no character; expected valid Unicode.$"),
        ({"target": "\udcff"}, r"U\+DCFF"),
        ({"prefix": "\udcff"}, r"U\+DCFF"),
    ],
)
def test_impossible_request_is_refused(values, message):
    with pytest.raises(RequestError, match=message):
        Request(**({"source": "The fox."} | values))


@pytest.mark.parametrize("limit", [0, -3, 129])
def test_a_limit_out_of_range_is_told(limit):
    with pytest.raises(RequestError, match=f"^The limit is {limit} target tokens; expected 1 to 128.$"):
        Decoding(limit=limit)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "The beam's width is 0; expected 1 to 64."),
        ({"width": 5000}, "The beam's width is 5000; expected 1 to 64."),
        ({"alpha": -0.1}, "The length penalty's alpha is -0.1; expected 0 to 5."),
        ({"alpha": float("nan")}, "The length penalty's alpha is nan; expected 0 to 5."),
    ],
)
def test_a_beam_out_of_range_is_told(values, message):
    with pytest.raises(RequestError, match=f"^{message}$"):
        Decoding("beam", **values)
