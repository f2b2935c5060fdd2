"""The two sides of a comparison: what is another one in the second, and all that the two share."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from model.io.folders import family_and_task, list_checkpoints, read_model_entry
from model.readings.heads.trace_comparison import AlignedTraces, align_traces
from model.task import TRANSLATION, Task
from model.trace import SITE_KINDS, AttentionKind, Site
from viz import cache
from viz.kit.panel import NotChosenError
from viz.page_context import PageContext
from viz.state import uploads
from viz.state.view import MAX_WIDTH, View, without_edits

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.decoding.hypotheses import Hypothesis
    from model.inference.analysis import Analysis

WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")  # what can be swapped: a word, or a sign
# what stands in a word's place where nothing was typed
EXAMPLES = {"shy": "wide", "hard": "tired", "tired": "wide", "heavy": "narrow", "small": "big"}


class PairError(ValueError):
    """There is nothing to compare: one sentence that says why, and what to do."""


@dataclass(frozen=True)
class Side:
    """One side: what was asked and what came of it, and where it is looked at. All count from 0."""

    name: str  # what it is, in a few words
    request: Request
    analysis: Analysis
    loaded: Checkpoint
    site: Site
    head: int | None  # None: the mean
    step: int


@dataclass(frozen=True)
class Pair:
    """Both sides with the partners among their tokens. The first is the view's own."""

    differs: str
    first: Side
    second: Side
    aligned: AlignedTraces
    faults: tuple[str, ...]  # what of the view the second side does not have, a sentence each

    @property
    def is_two_requests(self) -> bool:
        """False where both sides are parts of one pass: two heads, or two steps."""
        return self.first.analysis is not self.second.analysis


@dataclass(frozen=True)
class Other:
    """What the second side is: its request (None: the first one's), its place, and the names of both (None: places)."""

    names: tuple[str, str] | None
    request: Request | None = None
    layer: int | None = None  # None: the first one's
    head: int | None = 0  # from 1, None the mean; 0: the first one's
    step: int | None = None


def pair(view: View, context: PageContext) -> Pair:
    """Returns both sides of a comparison. Raises PairError, or ValueError as `page_context.build`, if there is no second."""
    other = DIFFERENCES[view.differs](view, context)
    request, faults = context.request, []
    analysis, loaded = context.analysis, context.loaded
    if other.request is not None:
        try:
            request, aside = cache.fit_request(other.request, view.device)
            analysis, loaded = cache.analyse(request, view.device), cache.checkpoint(request.checkpoint, view.device)
        except ValueError as fault:
            raise PairError(f"The second side cannot be shown. {fault}") from fault
        faults += [f"Not on the second side: {reason}" for _, reason in aside]
    if (analysis.trace.outputs is None) != (context.analysis.trace.outputs is None):
        raise PairError("One of the two has no decoder, so there is no translation beside the other's: compare another.")
    if analysis.task.is_classifier != context.analysis.task.is_classifier:
        raise PairError("One of the two gives the text a label, and the other does not: compare another.")
    kind, told = _kind(view, context.analysis)
    faults += told
    site, head = Site(kind, view.layer), view.head
    here = _there(site, context), head
    wanted = head if other.head == 0 else other.head and other.head - 1
    place, more = _fitted(Site(site.kind, view.layer if other.layer is None else other.layer), wanted, analysis, loaded)
    names = other.names or (here[0].head_name(here[1]), place[0].head_name(place[1]))
    if names[0] == names[1] and not other.names:
        raise PairError(f"Both sides show {names[0]}: choose another head for the second.")
    first = Side(names[0], context.request, context.analysis, context.loaded, *here, view.step)
    second = Side(names[1], request, analysis, loaded, *place, view.step if other.step is None else other.step)
    return Pair(view.differs, first, second, align_traces(first.analysis.trace, analysis.trace), (*faults, *more))


def _kind(view: View, analysis: Analysis) -> tuple[AttentionKind, tuple[str, ...]]:
    """The kind of attention that is compared, and a sentence where it is not the view's."""
    there = [kind for kind in analysis.trace.kinds if view.differs != "step" or SITE_KINDS[kind].query_side == "target"]
    if not there:
        raise PairError("This checkpoint has no decoder, so it has no steps: compare something else.")
    if view.kind in there:
        return view.kind, ()  # type: ignore[return-value]
    was, now = SITE_KINDS[view.kind].name, SITE_KINDS[there[-1]].name
    if view.kind in analysis.trace.kinds:
        return there[-1], (f"The encoder reads the whole sentence at once and knows no steps: {now} is shown.",)
    return there[-1], (f"This checkpoint has no {was}: {now} is shown.",)


def _there(site: Site, context: PageContext) -> Site:
    """The site, or the last that there is of its kind."""
    return Site(site.kind, min(site.layer, context.analysis.trace.sites(site.kind)[-1].layer))


def _fitted(
    site: Site, head: int | None, analysis: Analysis, loaded: Checkpoint
) -> tuple[tuple[Site, int | None], tuple[str, ...]]:
    """A place on the second side as it is there, and a sentence where it is another one."""
    sites = analysis.trace.sites(site.kind)
    if not sites:
        raise PairError(f"The second side has no {site.spec.name}: choose another site.")
    told = []
    if site not in sites:
        told.append(f"The second side has {len(sites)} layers: its last stands for layer {site.layer + 1}.")
        site = sites[-1]
    if head is not None and head >= loaded.config.heads:
        told.append(f"The second side has {loaded.config.heads} heads: their mean stands for {site.head_name(head)}.")
        head = None
    return (site, head), tuple(told)


# -- what may differ -----------------------------------------------------------------------------------------------


def words(sentence: str) -> tuple[str, ...]:
    """The words and signs of a sentence that can be swapped."""
    return tuple(WORD.findall(sentence))


def swapped(view: View, sentence: str) -> tuple[int | None, str]:
    """Which word of a sentence gives way, and what stands in its place: as chosen, else as in an example. None where no
    word is chosen, an empty text where none is typed."""
    known = words(sentence)
    if view.swap is not None:
        return view.swap, view.swap_to or EXAMPLES.get(known[view.swap] if view.swap < len(known) else "", "")
    for number, word in enumerate(known):
        if word in EXAMPLES:
            return number, view.swap_to or EXAMPLES[word]
    return None, view.swap_to


def with_word(sentence: str, number: int | None, word: str, task: Task = TRANSLATION) -> str:
    """The sentence with another word in the place of one; PairError for one that cannot stand there."""
    noun, text = task.part_noun, task.input_noun
    places = list(WORD.finditer(sentence))
    if number is None:
        raise NotChosenError(f"Click the {noun} that shall give way, and type the one that shall stand in its place.")
    if number >= len(places):
        raise PairError(f"The {text} has no {noun} {number + 1}, it has {len(places)}: click one of them.")
    place, word = places[number], word.strip()
    if not word:
        raise NotChosenError(f"Type the {noun} that shall stand in the place of “{place[0]}”.")
    if word == place[0]:
        raise PairError(f"“{word}” stands there already: both {text}s would be the same. Type another {noun}.")
    return sentence[: place.start()] + word + sentence[place.end() :]


def _elsewhere(request: Request, **changes: Any) -> Request:
    """A request of which something is another: its paths through the tree belong to the first."""
    return dataclasses.replace(request, branches=(), path=(), **changes)


def _word(view: View, context: PageContext) -> Other:
    sentence = context.request.source
    number, word = swapped(view, sentence)
    text = with_word(sentence, number, word, context.analysis.task)
    return Other((words(sentence)[number], word.strip()), _elsewhere(context.request, source=text))


def _sentence(view: View, context: PageContext) -> Other:
    text = view.other_text.strip()
    if not text:
        raise NotChosenError(f"Type the {context.analysis.task.input_noun} that the first is compared with.")
    if text == context.request.source.strip():
        raise PairError("Both sentences are the same: type another one.")
    return Other(("first sentence", "second sentence"), _elsewhere(context.request, source=text))


def checkpoints(view: View) -> tuple[str, ...]:
    """The checkpoints that can be compared with the view's own, those of its family first."""
    known = {name: family_and_task(read_model_entry(place)) for name, place in list_checkpoints().folders.items()}
    own = known.get(view.checkpoint)
    others = (name for name in cache.checkpoint_names() if name != view.checkpoint)
    return tuple(sorted(others, key=lambda name: known.get(name) != own))


def _checkpoint(view: View, context: PageContext) -> Other:
    others = checkpoints(view)
    if not others:
        raise PairError("There is one checkpoint only, so there is none to compare it with.")
    name = view.other_checkpoint or others[0]
    if name == view.checkpoint:
        raise PairError(f"Both sides are the checkpoint {uploads.display_name(name)}: choose another one.")
    cache.refresh(name)
    return Other(
        (uploads.display_name(view.checkpoint), uploads.display_name(name)),
        _elsewhere(context.request, checkpoint=name),
        view.other_layer,
        view.other_head,
    )


def _edits(view: View, context: PageContext) -> Other:
    if not context.request.intervention:
        raise NotChosenError("Nothing is edited, so both sides would be the same: make an edit on the page What if.")
    return Other(("with the edits", "without them"), without_edits(context.request))


def _head(view: View, context: PageContext) -> Other:
    return Other(None, None, *other_head(view, context))


def other_head(view: View, context: PageContext) -> tuple[int, int | None]:
    """Layer, and head from 1, of the second side; where none is chosen, the next head."""
    heads = context.loaded.config.heads
    head = view.other_head
    if head == 0:
        head = 1 if view.head is None else (view.head + 1) % heads + 1
    return view.layer if view.other_layer is None else view.other_layer, head


def hypotheses(context: PageContext) -> tuple[Hypothesis, ...]:
    """The hypotheses of the tree that are not the one which is shown, those that were given up last."""
    tree, shown = context.analysis.tree, context.analysis.hypothesis
    if tree is None or shown is None or context.request.target is not None:
        return ()
    known = {shown.ids: shown}
    known.update((each.ids, each) for each in (*tree.hypotheses, *tree.pruned) if each.ids != shown.ids)
    return tuple(known.values())[1:]


def _hypothesis(view: View, context: PageContext) -> Other:
    others, task = hypotheses(context), context.analysis.task
    if not task.has_decoder:
        reads = "A text that is judged is read once" if task.is_classifier else "This model fills all blanks at once"
        raise PairError(f"{reads}: there is one reading and no other hypothesis. Compare something else.")
    if not others:
        if context.request.target is not None:
            raise PairError("The target is given, so there are no hypotheses: let the model translate.")
        raise NotChosenError(f"There is one hypothesis only: search with a beam of 2 to {MAX_WIDTH}, which keeps several.")
    known = {each.ids for each in others}
    path = view.other_path if view.other_path in known else others[0].ids  # as the box above shows it
    return Other(("first hypothesis", "second hypothesis"), dataclasses.replace(context.request, path=path))


def other_step(view: View, steps: int) -> int:
    """The step of the second side; where none is chosen the next one, after the last the one before."""
    if view.other_step is not None:
        return view.other_step
    return view.step + 1 if view.step + 1 < steps else max(0, view.step - 1)


def _step(view: View, context: PageContext) -> Other:
    if context.analysis.task.is_classifier:
        raise PairError("A text that is judged has one label and no steps: compare something else.")
    steps = len(context.analysis.trace.predicted_axis)
    step = other_step(view, steps)
    if steps < 2:
        raise PairError("This translation has one step only, so there is none to compare it with.")
    if step >= steps:
        raise PairError(f"There is no step {step + 1}; this translation has {steps}: choose one of them.")
    if step == view.step:
        raise PairError(f"Both sides show step {step + 1}: choose another one for the second.")
    return Other((f"step {view.step + 1}", f"step {step + 1}"), step=step)


DIFFERENCES: dict[str, Callable[[View, PageContext], Other]] = {  # what makes the second side
    "word": _word,
    "sentence": _sentence,
    "checkpoint": _checkpoint,
    "edits": _edits,
    "head": _head,
    "hypothesis": _hypothesis,
    "step": _step,
    "family": lambda view, context: Other(None),  # three models in place of two sides
}
