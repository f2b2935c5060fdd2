"""Embeddings: the nearest tokens of one token in the embedding table, and a famous sum of words in this table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.config import CONTROL_TOKENS
from model.export.csv_tables import Cell, Table
from model.io import numbers
from model.readings.tokens.neighbours import RARE, SIDES, Analogy, Neighbour, Side, name_of
from model.readings.tokens.sentence_tokens import FoundToken, axes, tokenizer_of, tokens_of_table, total_counts
from model.text.languages import record_of
from viz import computations
from viz.classroom import lecture
from viz.kit import mount, site_texts
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.values import MAX_WORD

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.export.code import Code
    from viz.state.view import View

PART = {"part": "embeddings"}
MAX_PIECES = 8  # further pieces of a word that are offered
HUES = {"source": "encoder", "target": "decoder", "unknown": "cross"}
APART = 0.75  # of a language's tokens: with more of them nearest to one of their own, the languages lie apart


def analogy_text(found: Analogy) -> str:
    """Whether the sum gives the fourth word, and what may be why, in a few sentences."""
    a, b, c, d = found.words
    asked = f"{a} − {b} + {c}, which in other tables gives {d} (Mikolov, Yih and Zweig 2013): "
    cut = [
        f"“{word}” is cut into {' + '.join(own)}"
        for word, own in zip(found.words, found.pieces, strict=True)
        if len(own) > 1
    ]
    if not found.nearest:
        return (
            f"{asked}here it cannot be asked, for {' and '.join(cut)}, and such a word has no row of its own.{_seen(found)}"
        )
    nearest = ", ".join(f"{label} {numbers.decimal(cosine)}" for label, cosine in found.nearest)
    if found.holds:
        return f"{asked}here too. {_left_out(found)}: {nearest}.{_seen(found)}"
    why = f"{d} is number {found.rank:,} of {found.ranked:,}" if found.rank else f"{cut[0]}, so no row stands for it"
    own = f" With the three, the nearest would be {found.itself}." if found.itself not in dict(found.nearest) else ""
    return f"{asked}here it fails: {why}. {_left_out(found)}: {nearest}.{own}{_seen(found)}"


def _left_out(found: Analogy) -> str:
    """Introduces the list of the nearest tokens, and says which tokens it leaves out."""
    three = "Nearest to the sum, without the three words"
    if not found.rare:
        return three
    tokens = "1 token" if found.rare == 1 else f"{found.rare:,} tokens"
    return f"{three} and {tokens} seen fewer than {RARE} times in {found.language}"


def _seen(found: Analogy) -> str:
    """How often training had the words."""
    if found.seen is None:
        return ""
    each = [f"{word} {numbers.count_in_words(count)}" for word, count in zip(found.words, found.seen, strict=True)]
    return f" Training had {', '.join(each[:-1])} and {each[-1]}; those tables had read hundreds of millions of words."


def language_name(loaded: Checkpoint, language: str) -> str:
    """The name of a side's language, as it stands above its list."""
    return "All tokens" if language == "unknown" else loaded.languages[language == "target"]


def _describe(near: Neighbour, language: str) -> str:
    """Returns the occurrences of a neighbour and the check against chance."""
    if near.count is None:
        return ""
    chance = {True: "; stands out", False: "; not more similar than chance", None: ""}[near.stands_out]
    return (
        f"seen {numbers.count_in_words(near.count)} in "
        f"{language}{'; a token of both languages' if near.shared else ''}{chance}"
    )


def chance(listed: Sequence[Neighbour]) -> str:
    """Which neighbours may be there by chance, as a sentence or two; empty where that cannot be told."""
    known = [each.stands_out for each in listed if each.stands_out is not None]
    if not known:
        return ""
    if not any(known):
        return "None of these is more similar than chance. They mean little."
    if all(known):
        return "All of these are more similar than chance."
    return "Filled: more similar than chance. Hollow: not."


def seen(loaded: Checkpoint, token: int, side: Side) -> str:
    """How often the training data has a token, by language."""
    if token < len(CONTROL_TOKENS):
        return "a control token"
    found = counted(loaded, token, side)
    return f"seen in training {found}" if found else "nothing is known of how often the training saw it"


def counted(loaded: Checkpoint, token: int, side: Side) -> str:
    """How often the training data has a token, in each language that shares its table; empty where that is not known."""
    sides = (SIDES if loaded.config.has_shared_embedding else (side,)) if loaded.token_counts else ()
    return ", ".join(
        f"{numbers.count_in_words(loaded.token_counts[s][token])} in {loaded.languages[s == 'target']}" for s in sides
    )


def apart(view: View, loaded: Checkpoint, side: Side) -> list[str]:
    """What stands in the lists and what not, and how far the table keeps its languages apart, as sentences."""
    if not loaded.token_counts:
        return ["Nothing is known of how often the training saw a token, so none is left out, nor its language told."]
    if not loaded.config.has_shared_embedding:
        return [f"Tokens that were seen fewer than {RARE} times are left out."]
    surveys = [computations.survey(view.checkpoint, view.device, each) for each in SIDES]
    parts = [
        f"of the {found.tokens:,} most frequent tokens of {name} alone, {found.same:,} have their nearest in {name} alone, "
        f"{found.both:,} in both languages"
        for found, name in zip(surveys, loaded.languages, strict=True)
        if found and found.tokens
    ]
    far = all(found.same > APART * found.tokens for found in surveys if found and found.tokens)
    told = [
        f"A token is listed under a language where training saw it at least {RARE} times in that language, and at least a "
        "quarter of all its occurrences were there."
    ]
    if parts:
        told.append(
            f"One table serves both languages: {'; '.join(parts)}."
            + (" So words do not lie beside their translations: the languages meet in cross-attention, not here." * far)
        )
    return told


Found = tuple[FoundToken, ...]
COMPONENT = mount.Component(__file__, '<div class="neighbours"></div>')


def payload(found: Found, context: PageContext) -> dict[str, Any]:
    """Returns all that the browser needs, as JSON values: the tokens of the sentence, and the lists of each found token.

    Each token has its label and `near`, the text that names it in the view.
    """
    loaded, trace = context.loaded, context.analysis.trace
    names = dict(zip(SIDES, loaded.languages, strict=True))
    return {
        "sentence": [
            {"title": names[side], "tokens": _chips(axis.ids, side, context)} for side, axis in axes(trace).items()
        ],
        "near": context.view.near,
        "large": False,
        "found": [_found_token(each, context) for each in found],
    }


def _chips(ids: Sequence[int], side: Side, context: PageContext) -> list[str]:
    tokenizer = tokenizer_of(context.loaded, side)
    return list(dict.fromkeys(tokenizer.piece(token) for token in ids if token >= len(CONTROL_TOKENS)))


def _found_token(found: FoundToken, context: PageContext) -> dict[str, Any]:
    loaded, token = context.loaded, found.token
    tokenizer, counts = tokenizer_of(loaded, found.side), total_counts(loaded, found.side)
    sentence = tokens_of_table(loaded, context.analysis.trace, found.side)

    def named(token: int) -> list[str]:
        return [tokenizer.piece(token), name_of(tokenizer, token, sentence, counts)]

    is_rare = bool(counts) and counts[token] < RARE and token >= len(CONTROL_TOKENS)
    return {
        "label": tokenizer.piece(token),
        "seen": seen(loaded, token, found.side),
        "rare": "This token was rare in training, so its neighbours mean little." if is_rare else "",
        "count": len(found.pieces),
        "others": [named(each) for each in found.pieces[1 : MAX_PIECES + 1]],
        "lists": [
            {
                "title": language_name(loaded, language),
                "hue": HUES[language],
                "none": f"No other token was seen {RARE} times here.",
                "rows": [
                    {
                        "token": named(each.id),
                        "cosine": round(each.cosine, 5),
                        "note": _describe(each, language_name(loaded, language)),
                        "hollow": each.stands_out is False,
                    }
                    for each in near
                ],
            }
            for language, near in found.neighbours.items()
        ],
    }


def _payload(context: PageContext, found: Found) -> dict[str, Any]:
    return payload(found, context)


def _events(context: PageContext, found: Found) -> dict[str, mount.Event]:
    def near(event: Any) -> tuple[str] | None:
        word = mount.text(event)
        return word if word and len(word[0]) <= MAX_WORD else None

    return {"near": (near, lambda word: session.change(near=word))}


def draw_word_box(context: PageContext) -> None:
    """Draws the box of a word to look up."""
    with st.container(key="near_word", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("Look up a word")
        st.text_input(
            "Word",
            placeholder=f"empty: {_default_token(context)}",
            label_visibility="collapsed",
            max_chars=MAX_WORD,
            **session.bind("near word", "near", context.view.near, str.strip),
        )


def _default_token(context: PageContext) -> str:
    return "this token" if context.analysis.trace.classes else "the token predicted at this step"


def _text(context: PageContext, found: Found) -> str:
    how = (
        "Each bar is the cosine between two rows of the embedding table, before any position or layer: how alike two tokens "
        "are to the model from the start. Click a bar to go on from its token."
    )
    where = "token" if context.analysis.trace.classes else "the token predicted at step"
    default = "" if context.view.near else f"No word is chosen: this is {where} {context.view.step + 1}."
    return site_texts.answer_markup(default, how)


def _large_text(context: PageContext, found: Found) -> str:
    return site_texts.note_markup(chance(_listed(found)) or "Each bar is the cosine between two rows of the table.")


def _listed(found: Found) -> list[Neighbour]:
    return [neighbour for each in found for near in each.neighbours.values() for neighbour in near]


def _notes(context: PageContext, found: Found) -> str:
    """Returns the meaning of the lists for this table, and the famous sum of words."""
    view, loaded = context.view, context.loaded
    known = apart(view, loaded, found[-1].side)
    limits, how = ([], known) if loaded.token_counts else (known, [])
    if record_of(loaded.languages[0]).analogy:
        how.append(analogy_text(computations.analogy(view.checkpoint, view.device)))
    if not loaded.config.joint_vocab:
        limits.append(
            "This checkpoint has a table for each language: a cosine between the two would mean nothing, so each list stays "
            "within its own."
        )
    answer, notes = chance(_listed(found)), "".join(map(site_texts.note_markup, limits))
    return notes + (
        site_texts.answer_markup(answer, " ".join(how)) if how else site_texts.note_markup(answer) if answer else ""
    )


def _keys(context: PageContext, found: Found) -> None:
    side = tuple(axes(context.analysis.trace))[-1]
    tokens = _chips(tokens_of_table(context.loaded, context.analysis.trace, side), side, context)
    lecture.add_walk_keys(
        "the next token of the sentence",
        "the token before",
        lambda by: _walk(tokens, tokenizer_of(context.loaded, side).piece(found[-1].token), by),
    )
    back = f"back to {_default_token(context)}"
    lecture.add_key(lecture.CLEAR_SEARCH, back, lambda: session.change(near=""), quiet=True)


def _walk(labels: list[str], default: str, by: int) -> None:
    """Shows the next or previous token of the sentence. For callbacks."""
    label = session.current_view().near or default
    if labels:
        session.change(near=labels[(labels.index(label) + by) % len(labels) if label in labels else 0])


def _tables(context: PageContext, found: Found) -> tuple[Table, ...]:
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        piece = tokenizer_of(context.loaded, one.side).piece
        for language, near in one.neighbours.items():
            rows += [
                (piece(one.token), language, place, piece(each.id), each.id, each.cosine, each.count)
                for place, each in enumerate(near, 1)
            ]
    return (Table("neighbours", ("token", "language", "place", "neighbour", "id", "cosine", "seen"), tuple(rows)),)


def _code(code: Code, context: PageContext, found: Found) -> None:
    code.add("cosines = [each.cosine for found in result for near in found.neighbours.values() for each in near]")


def _call(context: PageContext) -> computations.Call:
    """Returns the look-up of the view's word, or of the token of its step."""
    return computations.LOOK_UP(context.view.near, 0 if context.view.near else context.view.step)


NEIGHBOURS = Panel(
    "inside.neighbours",
    "Nearest embeddings",
    COMPONENT,
    _payload,
    _events,
    call=_call,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("Embeddings", ".found", lambda context, found: {"large": True}, fields=PART, text=_large_text),),
    keys=_keys,
    file=FileOptions(),
    reads=("near", "step"),
)
NEIGHBOUR_NOTES = Panel("inside.neighbour_notes", "What the lists mean", call=_call, text=_notes, is_visible=where(**PART))
