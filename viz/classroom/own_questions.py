"""Questions of the lecturer: several options, a token of the view, a head of the shown kind, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from model.edits.place import ordinal
from model.readings.heads.head_maps import is_special
from model.trace import SITE_KINDS, Trace, site_kind
from viz.classroom.questions import LONGEST, NoQuestion
from viz.classroom.rooms.room_question import MAX_CHOICE, MAX_OPTIONS, MAX_TEXT, OWN_KINDS, is_text, number_text

if TYPE_CHECKING:
    from viz.page_context import PageContext

OF_A_VIEW = ("token", "grid")  # kinds whose options come from the page's view
SIDES = ("source", "output")
NO_VIEW = "This page has no tokens and heads. Ask on a page with a sentence, such as Translate."
NO_OUTPUT = "This model has no output tokens. Ask for a token of the source."
HIDDEN = "The output is hidden. Show at least two tokens, or ask for a token of the source."
TOO_SHORT = "The sentence has fewer than two tokens. Choose a longer one."
TOO_LARGE = "The view has {} tokens or heads, the limit is {}. Choose a shorter sentence or a smaller model."


def check_own(value: Any) -> tuple[dict[str, Any]] | None:
    """Returns the question that a browser sends; None if it is malformed."""
    if not isinstance(value, dict) or value.get("kind") not in OWN_KINDS or value.get("side") not in SIDES:
        return None
    options, texts = value.get("options"), [value.get("text"), value.get("right")]
    if not isinstance(options, list) or len(options) > MAX_OPTIONS["choice"]:
        return None
    if not all(is_text(each, MAX_TEXT) for each in (*texts, *options)):
        return None
    return ({name: value[name] for name in ("kind", "text", "options", "right", "side")},)


def own_question(own: dict[str, Any], context: PageContext | None, has_kind: bool = True) -> dict[str, Any]:
    """Returns a question in the form of `QuestionDraft`, with an empty answer if none is right; raises NoQuestion.

    The kind of attention of a grid is that of the view if the page `has_kind`, else cross-attention if there is one.
    """
    kind, right, text = own["kind"], own["right"].strip(), " ".join(own["text"].split())
    options: tuple[str, ...] = ()
    about, columns = "", 0
    if not text:
        raise NoQuestion("The question has no text. Type one.")
    if kind == "choice":
        options = tuple(each[:MAX_CHOICE] for each in (" ".join(option.split()) for option in own["options"]) if each)
        if len(set(options)) < max(2, len(options)):
            raise NoQuestion("A question needs 2 to 8 different options. Add or change one.")
    elif kind == "number":
        right = _number(right)
    elif context is None:
        raise NoQuestion(NO_VIEW)
    elif kind == "token":
        about, options = _tokens(own["side"], context)
    else:
        about, options, columns = _heads(context, has_kind)
    if len(options) > (most := MAX_OPTIONS.get(kind, 0)):
        raise NoQuestion(TOO_LARGE.format(len(options), most))
    answer = right if kind == "number" else _match(right, options, kind)
    values: dict[str, Any] = dict.fromkeys(("before", "gap", "after", "gave", "note"), "")
    values |= {"kind": kind, "asks": text, "text": text, "about": about, "options": options, "model": ()}
    return values | {"answer": answer, "columns": columns}


def _number(typed: str) -> str:
    try:
        return number_text(typed, as_typed=True) if typed else ""
    except ValueError as fault:
        raise NoQuestion(f"“{typed[:LONGEST]}”: {fault}") from None


def _tokens(side: str, context: PageContext) -> tuple[str, tuple[str, ...]]:
    """Returns the name of the text, and its tokens without control tokens; of a hidden output only the shown ones."""
    trace, view = context.analysis.trace, context.view
    if side == "output":
        if not context.analysis.task.has_decoder:
            raise NoQuestion(NO_OUTPUT)
        labels: Sequence[str] = trace.predicted_axis.labels[: view.step if view.guess else None]
    else:
        labels = (trace.source or trace.predicted_axis).labels
    plain = [" ".join(label.split())[:LONGEST] or "(a space)" for label in labels if not is_special(label)]
    if len(plain) < 2:
        raise NoQuestion(HIDDEN if side == "output" and view.guess else TOO_SHORT)
    numbers = [plain[: n + 1].count(label) for n, label in enumerate(plain)]
    repeated = {label for label in plain if plain.count(label) > 1}
    names = (f"{label} ({ordinal(n)})" if label in repeated else label for label, n in zip(plain, numbers, strict=True))
    return f"Tokens of the {side}", tuple(names)


def _heads(context: PageContext, has_kind: bool) -> tuple[str, tuple[str, ...], int]:
    """Returns the name of the shown kind, its heads layer by layer, and the number of heads of a layer."""
    trace: Trace = context.analysis.trace
    kind = next(each for each in (context.view.kind if has_kind else "cross", *SITE_KINDS) if trace.sites(each))
    sites = trace.sites(kind)
    heads = len(trace.patterns[sites[0]])
    names = tuple(site.head_name(head) for site in sites for head in range(heads))
    return site_kind(kind).name.capitalize(), names, heads


def _match(right: str, options: Sequence[str], kind: str) -> str:
    """Returns the option that a typed answer means; empty for none. Raises NoQuestion."""
    if not right:
        return ""
    means = {
        option: {option, option.rpartition(" ")[2] if kind == "grid" else option.partition(" (1st)")[0]}
        for option in options
    }
    for fold in (str, str.casefold):
        if found := next((option for option, names in means.items() if fold(right) in map(fold, names)), None):
            return found
    what = {"token": "token here", "grid": "head here", "choice": "option"}[kind]
    raise NoQuestion(f"The right answer “{right[:LONGEST]}” is no {what}. Change it, or leave it empty.")
