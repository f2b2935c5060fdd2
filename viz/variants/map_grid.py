"""The visitor's sentence in several variants: which of them can be had, what each makes of it, and one map of each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from model.io.folders import list_checkpoints
from model.trace import MapView as TraceView
from model.trace import Site, site_kind
from model.variants.designs import VARIANTS
from model.variants.record import Variants, record_path
from viz import cache, theme
from viz.kit import patterns
from viz.state.page_fields import MAX_SIDE_BY_SIDE
from viz.state.result_cache import cached_figure
from viz.state.view import View
from viz.variants.variant_texts import names_of

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

FEW = 3  # that stand there where none is chosen and all would be too many


@dataclass(frozen=True)
class Side:
    """One variant: its translation and one map of it; or the sentence that says what of them there is not."""

    name: str
    title: str
    folder: str
    heads: int = 0
    analysis: Analysis | None = None
    site: Site | None = None
    head: int | None = None  # from 0; None: the mean
    fault: str = ""

    @property
    def map(self) -> TraceView | None:
        if self.analysis is None or self.site is None:
            return None
        return self.analysis.trace.view(self.site, self.head)


def there(record: Variants) -> dict[str, str]:
    """The checkpoint of each design whose weights lie beside the record, by the design's name: another folder's of the same
    name is not meant."""
    home = (found := record_path()) and found.parent.resolve()
    known = {path.resolve(): name for name, path in list_checkpoints().folders.items()} if home else {}
    lying = {name: home / record.shipped[name] for name in names_of(record) if home and name in record.shipped}
    return {name: known[path] for name, path in lying.items() if path in known}


def absent(record: Variants) -> list[str]:
    """The titles of the others."""
    at_hand = there(record)
    return [VARIANTS[name].title if name in VARIANTS else name for name in names_of(record) if name not in at_hand]


def chosen(record: Variants, view: View) -> tuple[str, ...]:
    """The designs whose maps are drawn, in the order in which they are declared; none: all that are there where they fit
    beside one another, else the first few."""
    at_hand = there(record)
    usual = tuple(at_hand) if len(at_hand) <= MAX_SIDE_BY_SIDE else tuple(at_hand)[:FEW]
    return tuple(name for name in at_hand if name in view.side_by_side) or usual


def in_vain(record: Variants, view: View) -> str:
    """What is to be said of designs that are asked for and whose weights are not in the lab; empty where there are none."""
    at_hand = there(record)
    if not (wanted := [VARIANTS[name].title for name in view.side_by_side if name not in at_hand]):
        return ""
    instead = "" if any(name in at_hand for name in view.side_by_side) else " Others stand here instead."
    return f"The link asks for {', '.join(wanted)}, which {'is' if len(wanted) == 1 else 'are'} not in this lab.{instead}"


def request_of(text: str, checkpoint: str) -> Request:
    """What is asked of each variant: the sentence alone, as greedy decoding translates it."""
    return Request(source=text, checkpoint=checkpoint)


def side(record: Variants, name: str, text: str, view: View) -> Side:
    """A variant on a sentence, at the kind of attention, layer and head of the view."""
    folder = there(record)[name]
    made = Side(name, VARIANTS[name].title if name in VARIANTS else name, folder)
    try:
        cache.refresh(folder)
        analysis = cache.analyse(request_of(text, folder), view.device)
    except ValueError as fault:
        return dataclasses.replace(made, fault=str(fault))
    heads = next(len(pattern) for pattern in analysis.trace.patterns.values())
    made = dataclasses.replace(made, heads=heads, analysis=analysis)
    site, head = Site(view.beside_kind, view.beside_layer), view.beside_head
    if site not in analysis.trace.patterns:
        fault = f"It has no {site_kind(view.beside_kind).name} in layer {view.beside_layer + 1}."
        return dataclasses.replace(made, fault=fault)
    if head is not None and head >= heads:
        which = "one head" if heads == 1 else f"{heads} heads"
        return dataclasses.replace(made, fault=f"It has {which}, so there is no head {head + 1}.")
    return dataclasses.replace(made, site=site, head=head)


@cached_figure
def map_data(request: Request, device: str, site: Site, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """Returns the data of one map, without a step."""
    seen = cache.analyse(request, device).trace.view(site, head)
    payload = patterns.pattern(seen, site.kind, site.spec.name[:1].upper() + site.spec.name[1:])
    return patterns.map_data([payload | {"follows": False}], 0, mode, alike=True)
