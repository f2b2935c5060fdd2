"""Patching in lecture mode: what one piece of the other sentence does, the pieces of one kind as a large picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from model.edits.kinds import PatchZ
from model.inference.predictions import changed_words
from viz import cache, experiments, state
from viz.compare import patch_grids, patch_texts, patching
from viz.shared import texts
from viz.shared.lecture import lecture, letters
from viz.view import unedited

if TYPE_CHECKING:
    from model.edits.kinds import Edit, Labels
    from model.experiments.patching import Patching
    from model.text.tokenizer import Tokenizer
    from viz.compare.pair import Pair
    from viz.shared.shown import Shown

PATCHING_PICTURES = ("encoder", "heads", "decoder")  # whose pieces, in the order of the view's `large`
WALKED = 12  # pieces that are walked through by key, those that do most


def draw_patching(shown: Shown, pair: Pair) -> None:
    """The three translations, the grid of one kind of pieces, and what the chosen piece does."""
    view, loaded = shown.view, pair.first.loaded
    if pair.differs not in patching.SENTENCES:
        texts.note(patching.NEEDS)
        return
    requests = unedited(pair.first.request), unedited(pair.second.request)
    try:
        question = experiments.patch_question(*requests, view.device, view.patched_step - 1 if view.patched_step else None)
    except ValueError as fault:
        texts.fault(str(fault))
        return
    found = patching.measured(requests, view.device, view.patched_step)
    if found is None:
        return
    number = lecture.picture(view, len(PATCHING_PICTURES))
    ranked = _ranked(found, PATCHING_PICTURES[number - 1])
    edits = view.patched.edits or (ranked[0],)
    try:
        *_, patched = patching.put_in(requests, edits, view.device)
    except ValueError as fault:
        texts.fault(str(fault))
        return
    first, second = (cache.analyse(request, view.device) for request in requests)
    tokens = patch_texts.names(question, loaded.target_tokenizer)
    own = first.trace.outputs.ids
    rows = (("this one", own), ("the other", second.trace.outputs.ids), ("patched", patched.trace.outputs.ids))
    large = {
        "picture": PATCHING_PICTURES[number - 1],
        "asked": patch_texts.asked(question, tokens),
        "rows": [[name, _marked(ids, own, loaded.target_tokenizer)] for name, ids in rows],
        "told": _told(found, edits, first.labels),
    }
    data = patch_grids.payload(found, first.labels, tuple(edit.code for edit in edits), shown.mode, large)
    patch_grids.grids(data, patching.choose)
    _keys(ranked, ranked[0])


def _told(found: Patching, edits: Sequence[Edit], labels: Labels) -> str:
    """What is put in, and how far it leads where that was measured alone."""
    value = dict(found.pieces).get(edits[0]) if len(edits) == 1 else None
    put = "; ".join(patch_texts.told(edit, labels) for edit in edits)
    return f"Put in: {put}" + ("." if value is None else f". {patch_texts.far(found, value)}.")


def _ranked(found: Patching, picture: str) -> list[Edit]:
    """The pieces of a picture, those that lead furthest towards the other sentence first."""
    own = [
        (edit, float(found.share(value)))
        for edit, value in found.pieces
        if (picture == "heads") == isinstance(edit, PatchZ) and picture in ("heads", getattr(edit, "stack", ""))
    ]
    return [edit for edit, _ in sorted(own, key=lambda each: -each[1])]


def _marked(ids: Sequence[int], own: Sequence[int], tokenizer: Tokenizer) -> list[list[Any]]:
    """A translation in pieces of text, each with whether it is another than in the first."""
    return [list(each) for each in zip(tokenizer.segments(ids), changed_words(own, ids)[1], strict=True)]


def _keys(ranked: list[Edit], usual: Edit) -> None:
    lecture.walk("the next piece", "the piece before", partial(_walk, ranked[:WALKED], usual))
    lecture.key(letters.INNER, "encoder, heads, decoder", _turn_patching, quiet=True)


def _walk(known: list[Edit], usual: Edit, by: int) -> None:
    """To the piece beside the one that is put in now; called from callbacks."""
    edits = state.current().patched.edits or (usual,)
    at = known.index(edits[0]) if len(edits) == 1 and edits[0] in known else None
    patching.choose((known[0] if at is None else known[(at + by) % len(known)]).code)


def _turn_patching() -> None:
    """Another picture, with its own best piece; called from callbacks."""
    number = lecture.picture(state.current(), len(PATCHING_PICTURES))
    state.change(large=number % len(PATCHING_PICTURES) + 1, patched=patching.BASELINE)
