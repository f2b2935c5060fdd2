"""Heads in lecture mode: one head as a map or as lines, or all of them, over the whole page."""

from __future__ import annotations

import dataclasses

from model.readings.heads.head_metrics import order_label, orders
from viz import theme
from viz.classroom import lecture
from viz.heads import all_heads, picture
from viz.kit import controls
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import View

LARGE = ("Map", "Lines", "All heads")  # the pictures, from 1
ALL = 3


def draw(context: PageContext) -> None:
    """One picture, and its keys."""
    view, request, kinds = context.view, context.request, context.analysis.trace.kinds
    large = lecture.picture(view, len(LARGE))
    drawn = dataclasses.replace(view, together=False, lecture=False, large=View.large, talk="", stop=0, room="")
    with context.places.bar:
        _bar(view, large, kinds)
    lecture.draw(context)
    shown_heads = picture.thumbnails(request, view.device, context.mode)
    data = picture.payload(request, view.device, drawn, context.mode)
    with context.places.body:
        all_heads.heads(
            shown_heads,
            data,
            on_choose=lambda kind, layer, head: session.change(
                kind=kind, layer=layer, head=head, average=False, large=_one(large)
            ),
            on_set=lambda name, value: session.change(**{name: value}),
            on_unfold=lambda: None,
            on_find=lambda kind, query, key: picture.find(request, kind, query, key),
            key="heads large",
            beside={"large": large, "sites": view.together and len(kinds) > 1, "by": order_label(view.order)},
        )
    _keys(view, large, kinds, _ordered(shown_heads, data, view), context.analysis.trace.has_two_sentences)


def _one(large: int) -> int:
    """What shows a head that was chosen among all."""
    return 1 if large == ALL else large


def _bar(view: View, large: int, kinds: tuple[str, ...]) -> None:
    lecture.picture_buttons(LARGE, large)
    controls.kind_pick(view, kinds)


def _keys(view: View, large: int, kinds: tuple[str, ...], ordered: list[tuple[int, int]], two: bool) -> None:
    lecture.add_key(
        lecture.PICTURE,
        f"the picture: {', '.join(name.lower() for name in LARGE)}",
        lambda: lecture.next_picture(len(LARGE)),
        quiet=True,
    )
    if len(kinds) > 1:
        each = f"the attention: {', '.join(theme.SITE_NAMES[kind].lower() for kind in kinds)}"
        lecture.add_key(
            lecture.KIND,
            f"{each}; all at once with all heads",
            lambda: session.change(**_next_kind(session.current_view(), large, kinds)),
            quiet=True,
        )
    walk = "the next head in this order", "the head before it"
    lecture.add_walk_keys(*walk, lambda by: _walk(session.current_view(), ordered, by))
    by = order_label(_next_order(view, two)).lower()
    lecture.add_key(
        lecture.ORDER, f"order the heads by: {by}", lambda: session.change(order=_next_order(session.current_view(), two))
    )
    merge = "pieces of words, or whole words"
    lecture.add_key(lecture.WORDS, merge, lambda: session.change(merge=not session.current_view().merge), quiet=True)
    if view.find is not None:
        lecture.add_key(
            lecture.CLEAR_SEARCH, "look for no two tokens any more", lambda: session.change(find=None), quiet=True
        )


def _next_order(view: View, two: bool) -> str:
    known = (*dict.fromkeys((*orders(two), view.order)),)
    return known[(known.index(view.order) + 1) % len(known)]


def _next_kind(view: View, large: int, kinds: tuple[str, ...]) -> dict[str, object]:
    """The kind after the one that is shown; with all heads, after the last all kinds at once."""
    at = (*kinds, None) if large == ALL else kinds
    now = None if large == ALL and view.together else view.kind
    wanted = at[(at.index(now) + 1) % len(at)]
    return {"together": True} if wanted is None else {"kind": wanted, "together": False}


def _ordered(shown: dict, data: dict, view: View) -> list[tuple[int, int]]:
    """Layer and head of all heads of the kind that is shown, as they stand: by the link that is looked for, else by the
    order that is chosen, else by their numbers."""
    grid, find = next(grid for grid in shown["grids"] if grid["kind"] == view.kind), data["find"]
    if find and find.get("kind") == view.kind:
        order = find["order"]
    else:
        order = grid["orders"].get(view.order, grid["orders"]["position"])
    return [(grid["places"][n][0] - 1, grid["places"][n][1] - 1) for n in order]


def _walk(view: View, ordered: list[tuple[int, int]], by: int) -> None:
    """To the head beside the one that is shown; from a mean to the first."""
    now = (view.layer, view.head)
    layer, head = ordered[(ordered.index(now) + by) % len(ordered)] if now in ordered and not view.average else ordered[0]
    session.change(layer=layer, head=head, average=False)
