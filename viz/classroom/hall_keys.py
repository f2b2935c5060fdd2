"""Keys for the commonest questions of a hall, on every page of a sentence: a head off and on, masks, tree, checkpoint."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from model.decoding.strategy import STRATEGIES
from model.edits.kinds import Ablate, Place
from model.trace import Site
from viz import cache, pages
from viz.classroom import lecture
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import YOURS, View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from model.trace import AttentionKind

TREE = 4  # number of the picture with the tree, on the first page
BEAM = next(name for name, each in STRATEGIES.items() if each.has_width and not each.is_random)
HAS_OWN_HEAD = ("stages", "writers")  # parts of Inside that show the first head in place of a mean
MEAN = "The mean over heads is shown. Shift and a digit choose a head."
NO_PADDING = "This text has no padding, so nothing changes."
GIVEN = "The target is given, so nothing is decoded and there is no tree."


def add_keys(context: PageContext) -> None:
    """Adds the keys after those of the page, and the effect of the edits to the message of a key."""
    page, task = pages.find(navigation.current_page()), context.analysis.task
    lecture.add_effect(site_texts.verdict_text(context.analysis) if context.analysis.baseline else "")
    if not page.has_step:
        return
    _add_head_key(context, page)
    if "decoder" in context.loaded.config.kinds:
        if context.loaded.config.causal or not context.view.intervention.causal_mask:  # else there is none to switch
            does, toggle = _mask_switch(context.view, "causal_mask", "causal mask")
            lecture.add_key(lecture.CAUSAL, does, toggle, quiet=True)
        if task.has_decoder:
            does = "hide the tree of paths" if _shows_tree(context.view, page.name) else "the tree of paths of a beam"
            lecture.add_key(lecture.TREE, does, _toggle_tree, quiet=True)
    if task.has_encoder:
        labels = context.analysis.trace.source.labels if context.analysis.trace.source else ()
        note = "" if "<pad>" in labels else NO_PADDING
        does, toggle = _mask_switch(context.view, "padding_mask", "padding mask", note)
        lecture.add_key(lecture.PADDING, does, toggle, quiet=True)
    names = _alternatives(context.view)
    following = names[(names.index(context.view.checkpoint) + 1) % len(names)]
    does = f"the next checkpoint of {len(names)}: {following}" if len(names) > 1 else "the next checkpoint"
    lecture.add_key(lecture.CHECKPOINT, does, partial(_choose_checkpoint, following, names), quiet=True)


# -- a head off and on -------------------------------------------------------------------------------------------------


def _add_head_key(context: PageContext, page: pages.Page) -> None:
    kinds, layers = context.loaded.config.kinds, context.loaded.config.layers
    field = "map_kind" if page.name == pages.PAGES[0].name else "kind"
    if not page.has_head:  # the digits choose the head that the key switches off
        lecture.set_head_facts(context, [_kind(context.view, field, kinds)])
    takes_first = page.name == "inside" and context.view.part in HAS_OWN_HEAD
    place = _shown_place(context.view, field, kinds, layers, takes_first)
    if place is None:
        does = "switch the chosen head off, and on again"
    else:
        is_off = _code(place) in {code for code, _ in context.view.intervention.codes_and_texts()}
        does = f"switch {place.text} {'on again' if is_off else 'off'}"
    toggle = partial(_toggle_head, field, kinds, layers, takes_first)
    lecture.add_key(lecture.HEAD_OFF, does, toggle, quiet=True)
    if len(kinds) > 1 and not lecture.has_key(lecture.KIND):
        lecture.add_key(
            lecture.KIND, f"the attention of the head for {lecture.HEAD_OFF.key}", partial(_next_kind, field, kinds), True
        )


def _kind(view: View, field: str, kinds: Sequence[AttentionKind]) -> AttentionKind:
    kind = getattr(view, field)
    return kind if kind in kinds else kinds[-1]


def _shown_place(
    view: View, field: str, kinds: Sequence[AttentionKind], layers: dict[AttentionKind, int], takes_first: bool
) -> Place | None:
    """Returns the place of the shown head; None for a mean over heads."""
    kind, head = _kind(view, field, kinds), 0 if view.head is None and takes_first else view.head
    return None if head is None or view.merges_layers else Place(kind, min(view.layer, layers[kind] - 1), head)


def _code(place: Place) -> str:
    return Ablate(place).code


def _toggle_head(field: str, kinds: Sequence[AttentionKind], layers: dict[AttentionKind, int], takes_first: bool) -> str:
    """Switches the shown head off, or on again, as a click on its switch does."""
    view = session.current_view()
    place = _shown_place(view, field, kinds, layers, takes_first)
    if place is None:
        return MEAN
    navigation.toggle_edit(_code(place))
    before, after = view.intervention, session.current_view().intervention
    if before == after:
        return f"{place.text} is already off: {before.covering_text(_code(place))}. Remove that first."
    is_off = any(code == _code(place) for code, _ in after.codes_and_texts())
    return lecture.with_effect(f"{place.text} is {'off' if is_off else 'on again'}.")


def _next_kind(field: str, kinds: Sequence[AttentionKind]) -> str:
    """Chooses the attention of the next switched head."""
    view = session.current_view()
    kind = kinds[(kinds.index(_kind(view, field, kinds)) + 1) % len(kinds)]
    session.change(**{field: kind})
    return f"{Site(kind, view.layer).head_name(view.head)}: {lecture.HEAD_OFF.key} switches it off."


# -- masks, tree, checkpoint -------------------------------------------------------------------------------------------


def _mask_switch(view: View, name: str, what: str, note: str = "") -> tuple[str, Callable[[], str]]:
    """Returns what the key of a mask does now, and its callback."""
    return f"{what} {'off' if getattr(view.intervention, name) else 'on'}", partial(_toggle_mask, name, what, note)


def _toggle_mask(name: str, what: str, note: str) -> str:
    navigation.toggle_mask(name)
    is_on = getattr(session.current_view().intervention, name)
    text = f"The {what} is {'on' if is_on else 'off'}."
    return f"{text} {note}" if note else lecture.with_effect(text)


def _shows_tree(view: View, page: str) -> bool:
    return page == pages.PAGES[0].name and view.show == "decoding" and view.large == TREE


def _toggle_tree() -> str:
    """Shows the tree of a beam on the first page; there, shows the steps again."""
    view, first = session.current_view(), pages.PAGES[0].name
    if view.target is not None:
        return GIVEN
    if _shows_tree(view, navigation.current_page()):
        session.change(show=View.show, large=View.large)
        return f"The steps of decoding. {lecture.TREE.key} shows the tree again."
    strategy = BEAM if view.strategy == YOURS or not STRATEGIES[view.strategy].has_width else view.strategy
    session.change(show="decoding", guess=False, strategy=strategy)
    if navigation.current_page() == first:
        session.change(large=TREE)
    else:
        navigation.go_to(first, TREE)
    return f"The tree of paths. Tokens are chosen by: {STRATEGIES[strategy].title.lower()}, width {view.width}."


def _alternatives(view: View) -> list[str]:
    """Returns the checkpoints with the task and the languages of this one, in the order of the menu."""

    def describe(name: str) -> tuple[object, ...]:
        return cache.task(name, view.device), cache.declared_languages(name)

    own = describe(view.checkpoint)
    names = [name for name in cache.checkpoint_names() if name == view.checkpoint or describe(name) == own]
    return names if view.checkpoint in names else [view.checkpoint, *names]


def _choose_checkpoint(name: str, names: list[str]) -> str:
    if len(names) == 1:
        return "There is no other checkpoint for this task."
    session.change(checkpoint=name)
    return f"The checkpoint is {name} ({names.index(name) + 1} of {len(names)})."
