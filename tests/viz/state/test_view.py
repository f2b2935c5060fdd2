"""The edits of a link, and what a view makes of them, of the mask matrix, and of how tokens are chosen."""

import dataclasses
from urllib.parse import parse_qsl, urlencode

import pytest

from model.decoding.strategy import STRATEGIES, Decoding, Strategy
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Place
from tests.support import tiny
from viz.decoding_steps import decoding_texts
from viz.state.links import link, parse
from viz.state.result_cache import kept_with
from viz.state.values import MAX_EDITS, MAX_LINK_TEXT, SEPARATOR
from viz.state.view import View

CODES = (
    *("scaling-off", "window-3", "block_enc_9-2", "block_dec.3_all-2", "block_cross.3.5_9-all"),
    *("row_cross.3.5_4-uniform", "row_dec.1_4-2", "off_cross.3.5", "off_enc", "skip_dec.2.ff", "skip_enc.1.self"),
    *("source-positions_off", "target-positions_shuffled-7"),
)
MASKS = ("causal-off", "padding-off")


def edits_of(*codes: str) -> tuple[Intervention, tuple[str, ...]]:
    """The edits that a link with these codes makes, and what is said of it."""
    view, faults = parse(dict(parse_qsl(urlencode({"edits": SEPARATOR.join(codes)}), keep_blank_values=True)))
    assert dataclasses.replace(view, intervention=BASELINE) == View()
    return view.intervention, faults


def test_a_view_with_other_fields_is_the_same_as_one_made_anew():
    view = View(source="Hello.", layer=2)
    changed = view.with_fields(layer=1, step=3)
    assert changed == dataclasses.replace(view, layer=1, step=3)
    assert hash(changed) == hash(View(source="Hello.", layer=1, step=3))
    assert (view.layer, view.step) == (2, View.step) and type(changed) is View
    with pytest.raises(ValueError, match=r"no field 'leyer'; expected one of .*layer, "):
        view.with_fields(leyer=1)


def test_results_are_kept_with_their_record():
    made = []

    @kept_with
    def find(view: View, name: str) -> object:
        made.append((view.source, name))
        return getattr(view, name)

    one, other = View(source="one"), View(source="other")
    for _ in range(2):
        assert [find(view, name) for view in (one, other) for name in ("source", "layer")] == ["one", 2, "other", 2]
    assert made == [("one", "source"), ("one", "layer"), ("other", "source"), ("other", "layer")]
    assert one == View(source="one")  # what is kept is no field


def test_as_many_edits_as_a_link_may_carry_come_back():
    view = View(intervention=tiny.edited(*CODES))
    assert len(view.intervention.codes_and_texts()) == len(CODES)
    written = link(view)
    assert set(written) == {"edits"}
    assert sorted(written["edits"].split(SEPARATOR)) == sorted(CODES)
    assert parse(dict(parse_qsl(urlencode(written)))) == (view, ())
    assert edits_of(*CODES) == edits_of(*reversed(CODES), *CODES[:3]) == (tiny.edited(*CODES), ())  # in any order
    longest = View(intervention=tiny.edited(*(f"block_cross.12.16_{row}-128" for row in range(1, 129)), *CODES[:2]))
    assert len(link(longest)["edits"]) <= MAX_LINK_TEXT
    assert parse(link(longest)) == (longest, ())


@pytest.mark.parametrize("place", [0, 1, len(CODES)])
@pytest.mark.parametrize(
    "bad",
    ["nonsense", "off_enc.0", "window-0", "window-999", "block_enc_all-all", "skip_enc.1.cross", "<b>x</b>", " ", "off"],
)
def test_a_bad_edit_is_one_fault_and_the_others_hold(bad, place):
    codes = [code for code in CODES if not code.startswith("window")]
    made, faults = edits_of(*codes[:place], bad, *codes[place:])
    assert made == tiny.edited(*codes)
    assert len(faults) == 1 and len(faults[0]) < 250
    assert faults[0].endswith(f" The link's “{bad}” is left out.")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("off_cross.3.5", "mean_cross.3.5"),
        ("mean_enc.1", "off_enc.1.2"),
        ("source-positions_off", "source-positions_shifted-2"),
        ("block_enc_4-all", "row_enc_4-2"),
        ("row_cross.1.1_1-1", "row_cross.1.1_1-uniform"),
    ],
)
def test_the_first_of_contradicting_edits_holds(one, two):
    for first, second in ((one, two), (two, one)):
        made, (fault,) = edits_of(first, second, "scaling-off")
        assert made == tiny.edited(first, "scaling-off")
        assert "contradict each other" in fault and fault.endswith(f" The link's “{second}” is left out.")


@pytest.mark.parametrize(("count", "told"), [(MAX_EDITS, 0), (5 * MAX_EDITS, 1)])
def test_too_many_edits_are_one_fault(count, told):
    codes = [f"block_enc_{row}-{key}" for row in range(1, 101) for key in range(1, 11)][:count]
    made, faults = edits_of(*codes)
    assert made == tiny.edited(*codes[:MAX_EDITS])
    assert len(faults) == told
    assert all(f"at most {MAX_EDITS} edits" in fault for fault in faults)


@pytest.mark.parametrize("codes", [MASKS[:1], MASKS[1:], (*MASKS, *CODES)])
def test_a_mask_edit_is_written_as_its_switch(codes):
    made, faults = edits_of(*codes)
    assert (made, faults) == (tiny.edited(*codes), ())
    view, _ = parse({"edits": SEPARATOR.join(codes)})
    assert parse(link(view)) == (view, ())
    assert not set(MASKS) & set(link(view).get("edits", "").split(SEPARATOR))
    assert parse({"edits": codes[0], "causal": "off", "padmask": "off"})[0].intervention == tiny.edited(*MASKS, codes[0])


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("head", [4, None])
def test_a_click_edits_all_layers_one_layer_or_one_head(kind, head):
    view = View(kind=kind, layer=2, head=head)
    assert dataclasses.replace(view, scope="all").place == Place(kind)
    assert dataclasses.replace(view, scope="layer").place == Place(kind, 2)
    assert dataclasses.replace(view, scope="head").place == Place(kind, 2, head)  # no head: its layer


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("codes", [(), CODES])
def test_switches_and_edits_are_one_intervention(causal, padding, codes):
    whole = tiny.edited(*codes, *(() if causal else MASKS[:1]), *(() if padding else MASKS[1:]))
    view, parameters = View(intervention=whole), {"causal": not causal, "padmask": not padding, "edits": bool(codes)}
    assert set(link(view)) == {name for name, is_written in parameters.items() if is_written}
    assert parse(link(view)) == (view, ()) and view.request().intervention == whole
    assert bool(whole) is not (causal and padding and not codes)


@pytest.mark.parametrize(("sentence", "chosen"), [(0, 0), (1, 1), (2, 2), (15, 2)])
def test_the_chosen_sentence_is_requested(sentence, chosen):
    texts = ("One owl.", "Two owls!", "Three?")
    view = View(source="  One owl. Two owls!\nThree? ", sentence=sentence)
    request = view.request()
    assert view.sentences == texts
    assert request.source == texts[chosen]
    assert request.other_sentences == tuple(text for text in texts if text != texts[chosen])
    whole = dataclasses.replace(view, split=False)
    assert (whole.request().source, whole.request().other_sentences) == (view.source.strip(), ())


@pytest.mark.parametrize("where", ["branches", "path"])
@pytest.mark.parametrize("size", [320, 8000])
def test_tokens_beyond_the_vocabulary_are_dropped(where, size):
    for token, faulty in ((size - 1, False), (size, True), (999_999, True)):
        held = {"branches": ((5, 6), (5, token))} if where == "branches" else {"path": (5, token, 6)}
        view = View(layer=0, **held)
        found, faults = view.fit(4, 8, size)
        if not faulty:
            assert (found, faults) == (view, ())
            continue
        assert found == View(layer=0) and len(faults) == 1
        assert f"the token {token};" in faults[0] and f"up to {size - 1}." in faults[0]


def test_a_registered_strategy_reaches_the_link(monkeypatch):
    made = Strategy("nucleus", "Nucleus", "Nucleus: made up.", ("width", "top_p"), lambda *_: [], lambda _: "nucleus")
    assert parse({"decode": "nucleus"})[1]
    monkeypatch.setitem(STRATEGIES, made.name, made)
    view, faults = parse({"decode": "nucleus", "width": "3", "top_p": "0.5", "seed": "7"})
    assert faults == ()
    assert view.decoding == Decoding("nucleus", width=3, top_p=0.5)
    assert decoding_texts.strategy_title("nucleus") == "Nucleus"
    assert decoding_texts.strategy_note("nucleus") == "Nucleus: made up."
