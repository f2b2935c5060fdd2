"""Inside, embeddings: which tokens lie near one in the table?

The famous sum of words, told as what it is in this table."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.config import CONTROL_TOKENS
from model.io import numbers
from model.readings.tokens.neighbours import RARE, Analogy, Neighbour, Side
from model.text.languages import record_of
from viz import cache, computations, theme
from viz.inside.inside_figures import neighbours_chart
from viz.kit import controls, mount, site_texts, terms
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.values import MAX_WORD
from viz.state.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.checkpoint import Checkpoint
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace


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


HUES = {"source": "encoder", "target": "decoder", "unknown": "cross"}
APART = 0.75  # of a language's tokens: with more of them nearest to one of their own, the languages lie apart
SIDES: tuple[Side, Side] = ("source", "target")


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """A token of the sentence or a typed word, and its neighbours in each language that shares its table."""
    loaded, trace = context.loaded, context.analysis.trace
    site_texts.note(
        "Each bar is the cosine between two rows of the embedding table, before any position or layer: how alike two tokens "
        "are to the model from the start. Click a bar to go on from its token.",
        "embedding",
        "layer",
    )
    sides = sides_of(trace)
    for side, ids in sides.items():
        _tokens(view, loaded, side, ids)
    _word_box(view, trace)
    joint, sentence = loaded.config.joint_vocab, sentence_tokens(loaded, trace)
    shown = tuple(sides)[-1:] if joint or not view.near else SIDES
    for side in shown:
        try:
            token = _chosen(view, loaded, side, sentence[side], trace)
        except ValueError as fault:
            site_texts.fault(str(fault))
            return
        _lists(view, loaded, token, side, sentence[side], mode)
    if record_of(loaded.languages[0]).analogy:
        site_texts.note(analogy_text(computations.analogy(view.checkpoint, view.device)))
    if not joint:
        site_texts.note(
            "This checkpoint has a table for each language: a cosine between the two would mean nothing, so each list stays "
            "within its own."
        )


def _tokens(view: View, loaded: Checkpoint, side: Side, ids: Sequence[int]) -> None:
    """The tokens of one side of the sentence, to pick from."""
    tokenizer, name = tokenizer_of(loaded, side), loaded.languages[side == "target"]
    labels = list(dict.fromkeys(tokenizer.piece(i) for i in ids if i >= len(CONTROL_TOKENS)))
    with st.container(key=f"near_{side}", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(name)
        st.pills(
            f"Tokens, {name}",
            labels,
            format_func=controls.plain_label,
            label_visibility="collapsed",
            **session.bind(f"near {side}", "near", view.near if view.near in labels else None, lambda label: label or ""),
        )


def _word_box(view: View, trace: Trace) -> None:
    with st.container(key="near_word", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("or a word")
        st.text_input(
            "Word",
            placeholder=f"empty: {here(trace)}",
            label_visibility="collapsed",
            max_chars=MAX_WORD,
            **session.bind("near word", "near", view.near, str.strip),
        )


def here(trace: Trace) -> str:
    """Whose neighbours are looked up where no word is chosen."""
    return "the token at this place" if trace.classes else "the token predicted at this step"


def sides_of(trace: Trace) -> dict[Side, tuple[int, ...]]:
    """The sides that the model has, with the tokens that stand there: the source's, and those that were written."""
    axes = {"source": trace.source, "target": trace.outputs}
    return {side: axis.ids for side, axis in axes.items() if axis is not None}  # type: ignore[misc]


def sentence_tokens(loaded: Checkpoint, trace: Trace) -> dict[Side, tuple[int, ...]]:
    """The sentence's tokens in each side's table, whose labels name them before any other: in a joint one, those of both."""
    own = sides_of(trace)
    return dict.fromkeys(SIDES, sum(own.values(), ())) if loaded.config.joint_vocab else own


def tokenizer_of(loaded: Checkpoint, side: Side) -> Tokenizer:
    return loaded.source_tokenizer if side == "source" else loaded.target_tokenizer


def total_counts(loaded: Checkpoint, side: Side) -> Sequence[int] | None:
    """How often each token of a side's vocabulary was seen, on both sides where it is joint."""
    if not loaded.token_counts:
        return None
    sides = SIDES if loaded.config.has_shared_embedding else (side,)
    return [sum(each) for each in zip(*(loaded.token_counts[s] for s in sides), strict=True)]


def looked_up(view: View, loaded: Checkpoint, trace: Trace) -> dict[Side, int]:
    """The token whose neighbours are shown, of each side whose table is; ValueError for what is no word."""
    from model.readings.tokens.neighbours import pieces_of

    if not view.near:
        return {"target": trace.step_axis.ids[view.step]}
    shown, sentence = ("target",) if loaded.config.joint_vocab else SIDES, sentence_tokens(loaded, trace)
    return {
        side: pieces_of(tokenizer_of(loaded, side), view.near, sentence[side], total_counts(loaded, side))[0]
        for side in shown
    }


def _chosen(view: View, loaded: Checkpoint, side: Side, sentence: Sequence[int], trace: Trace) -> int:
    """The token that is looked up, with what must be said of how it was found."""
    from model.readings.tokens.neighbours import name_of, pieces_of

    if not view.near:
        where = f"at place {view.step + 1}" if trace.classes else f"predicted at step {view.step + 1}"
        site_texts.note(f"No word is chosen: this is the token {where}.")
        return trace.step_axis.ids[view.step]
    tokenizer, counts = tokenizer_of(loaded, side), total_counts(loaded, side)
    pieces = pieces_of(tokenizer, view.near, sentence, counts)
    if len(pieces) > 1:
        with st.container(key=f"near_pieces_{side}", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label(
                f"“{view.near}” has no token of its own; it is cut into {len(pieces)}. The first is shown; the others:"
            )
            for n, piece in enumerate(pieces[1:9], 2):
                name = name_of(tokenizer, piece, sentence, counts)
                label = controls.plain_label(tokenizer.piece(piece))
                st.button(label, key=f"piece {side} {n}", type="tertiary", on_click=session.change, kwargs={"near": name})
    return pieces[0]


def _lists(view: View, loaded: Checkpoint, token: int, side: Side, sentence: Sequence[int], mode: theme.Mode) -> None:
    """The nearest tokens of each language, as bars."""
    tokenizer = tokenizer_of(loaded, side)
    found = computations.neighbours(view.checkpoint, view.device, token, side)
    site_texts.write(
        terms.first_space(
            f'<h2 class="lab-label lab-rule"><span class="lab-mono lab-chosen">{html.escape(tokenizer.piece(token))}</span>'
            f"<small>{html.escape(seen(loaded, token, side))}</small></h2>"
        )
    )
    counts = total_counts(loaded, side)
    if counts and counts[token] < RARE and token >= len(CONTROL_TOKENS):
        site_texts.note("This token was rare in training, so its neighbours mean little.", warn=True)
    with st.container(key=f"near_lists_{side}"):
        for column, (language, near) in zip(st.columns(max(2, len(found)), gap="medium"), found.items(), strict=False):
            with column:
                _list(view, loaded, (token, side), language, near, sentence, mode)
    listed = [each for near in found.values() for each in near]
    if told_ := chance(listed):
        site_texts.note(told_)
    for sentence_ in apart(view, loaded, side):
        site_texts.note(sentence_)


def _list(
    view: View,
    loaded: Checkpoint,
    of: tuple[int, Side],
    language: str,
    near: tuple[Neighbour, ...],
    sentence: Sequence[int],
    mode: theme.Mode,
) -> None:
    from model.readings.tokens.neighbours import name_of

    token, side = of
    tokenizer, counts = tokenizer_of(loaded, side), total_counts(loaded, side)
    name = language_name(loaded, language)
    site_texts.site_title(HUES[language], html.escape(name))
    if not near:
        site_texts.note(f"No other token was seen {RARE} times here.")
        return
    labels = [tokenizer.piece(n.id) for n in near]
    key = f"near-{side}-{language}"
    figure = drawn(view.checkpoint, view.device, token, side, language, mode)

    def clicked() -> None:
        row = mount.clicked_number(key, "y", 0, len(near) - 1)
        if row is not None:
            session.change(near=name_of(tokenizer, near[row].id, sentence, counts))

    st.plotly_chart(
        figure,
        theme=None,
        key=key,
        on_select=clicked,
        selection_mode="points",
        config=controls.chart_config(f"Nearest embeddings, {name}"),
        alt=f"{name}, nearest to {tokenizer.piece(token)}: "
        + ", ".join(f"{label} {n.cosine:.2f}" for label, n in zip(labels, near, strict=True)),
    )


@cached_figure
def drawn(checkpoint: str, device: str, token: int, side: Side, language: str, mode: theme.Mode) -> go.Figure:
    """The neighbours in one language, with room for the labels of all: charts beside one another have one scale."""
    loaded, found = cache.checkpoint(checkpoint, device), computations.neighbours(checkpoint, device, token, side)
    tokenizer, near, name = tokenizer_of(loaded, side), found[language], language_name(loaded, language)
    letters = max((len(tokenizer.piece(n.id)) for each in found.values() for n in each), default=1)
    labels, cosines = [tokenizer.piece(n.id) for n in near], np.array([n.cosine for n in near])
    hollow = [n.stands_out is False for n in near]
    return neighbours_chart(labels, cosines, [told(n, name) for n in near], HUES[language], mode, letters, hollow)


def language_name(loaded: Checkpoint, language: str) -> str:
    """The name of a side's language, as it stands above its list."""
    return "All tokens" if language == "unknown" else loaded.languages[language == "target"]


def told(near: Neighbour, language: str) -> str:
    """What is known of a neighbour beside its cosine."""
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
