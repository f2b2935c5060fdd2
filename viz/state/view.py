"""The view: one frozen value with all that changes a picture. `viz.state.page_fields` declares fields of single pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from model.config import MAX_TOKENS
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import LENGTH_PENALTY, MAX_ALPHA, MAX_SEED, STRATEGIES, Decoding, RequestError, strategy
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Place
from model.inference.request import MAX_PAD, MAX_SENTENCES, Mode, Request
from model.io.numbers import device_name
from model.text.languages import ENGLISH
from model.text.sentences import split
from model.trace import ATTENTION_KINDS, AttentionKind, Site, site_kind
from viz.state import values
from viz.state.fields import fields, view_field
from viz.state.page_fields import (
    SIZED,
    CompareFields,
    HeadsFields,
    InsideFields,
    LessonsFields,
    PositionsFields,
    TrainingFields,
    VariantsFields,
    WhyFields,
)

FIRST_SENTENCE = ENGLISH.first_sentence
FIRST_PROMPT = ENGLISH.first_prompt  # for a language model
DEFAULT_MORE = 40  # tokens that it adds
MAX_WIDTH = 8  # of a beam on the pages
MAX_TEMPERATURE = 2.0  # on the pages
MAX_TOP_K = 99_999
MAX_UNCACHED = 512  # tokens of branches times paths of a beam, decoded again without the causal mask
YOURS = "yours"  # the visitor's own translation
SHOWABLE = ("attention", "mask", "decoding", "cache")
SCOPES = ("all", "layer", "head")
ROWS = ("steps", "shifted", "training")  # one target row; inputs above outputs; as in training

MASK_PARAMETERS = {
    "causal": ("causal_mask", values.switch("on", "off")),
    "padmask": ("padding_mask", values.switch("on", "off")),
}
_TEMPERATURE = values.zero_or_decimal(MIN_TEMPERATURE, MAX_TEMPERATURE)
_ROOM = values.text(12, "the code of a room")
_TALK = values.text(values.MAX_LINK_TEXT, f"a playlist of at most {values.MAX_LINK_TEXT} characters")
_ASSIGNMENT = values.text(values.MAX_LINK_TEXT, f"an assignment of at most {values.MAX_LINK_TEXT} characters")
_OTHER = ("swap", "other_path", "other_step", "patched", "patched_step")  # other side of a comparison
_MEASURED = ("experiment",)  # measured on the former view
_OF_A_SENTENCE = (
    "step",
    "target",
    "branches",
    "path",
    "find",
    "blank_word",
    "cut",
    "cut_word",
    "cut_merges",
    "rival",
    "key",
)
_OF_A_SENTENCE += _OTHER


def strategies() -> tuple[str, ...]:
    """Returns the names of the decoding strategies; the visitor's own translation is the last."""
    return (*STRATEGIES, YOURS)


@dataclass(frozen=True)
class _Sentence:
    """Fields of all pages: sentence, step, site, edits. Layers, heads, steps, tokens and sentences count from 0."""

    source: str = view_field(
        FIRST_SENTENCE,
        "text",
        values.long_text(),
        stated_with="more",  # a language model opens with another text
        undo="step",
        renews=("sentence", *_OF_A_SENTENCE),
        drops=(*_MEASURED, "own_text"),
        settles=("word",),
    )
    own_text: str = view_field("", "own", values.long_text(), undo="along")  # a visitor's, while another is shown
    second: str = view_field(  # of two sentences, for a model that reads two
        "", "second", values.long_text(), undo="step", renews=_OF_A_SENTENCE, drops=_MEASURED, settles=("word",)
    )
    target: str | None = view_field(None, "target", values.long_text(), undo="step")
    step: int | None = view_field(  # None: the opening step of the text
        None, "step", values.number(1, 999, first=1), undo="along", renews=("rival",), settles=("word",)
    )
    layer: int = view_field(2, "layer", values.number(1, 999, first=1), undo="with the checkpoint", stated_with="find")
    head: int | None = view_field(  # None: the mean
        1, "head", values.number_or("mean", 1, 999, first=1), undo="with the checkpoint", stated_with="find"
    )
    show: str = view_field("attention", "show", values.choice(*SHOWABLE))
    mode: str = view_field("given", "mode", values.choice(*get_args(Mode)), undo="along")
    intervention: Intervention = view_field(  # noqa: RUF009
        BASELINE, "edits", values.edits(), undo="step", drops=_MEASURED, attributes=MASK_PARAMETERS
    )
    pad: int = view_field(0, "pad", values.number(0, MAX_PAD), undo="step", drops=_MEASURED)
    kind: str = view_field("encoder", "kind", values.choice(*ATTENTION_KINDS))  # whose mask matrix is shown
    scope: str = view_field("all", "scope", values.choice(*SCOPES))  # what a click on it edits
    experiment: str | None = view_field(None, "try", values.name("the name of an experiment"), undo="along")
    sentence: int = view_field(0, "sentence", values.number(1, MAX_SENTENCES, first=1), undo="step", renews=_OF_A_SENTENCE)
    split: bool = view_field(True, "split", values.switch("on", "off"), undo="step", renews=_OF_A_SENTENCE)
    # split: the text is read as its sentences, decoded as one batch; else as one
    checkpoint: str = view_field(
        "en-fr",
        "checkpoint",
        values.folder(),
        undo="step",
        renews=("branches", "path", "find", "blank_word", "rival", "other_path", "run", "trained", "probe", *SIZED),
        # renews: another checkpoint's tokens have other numbers, and it has another training and size
        drops=_MEASURED,
    )
    device: str = view_field("auto", "device", values.Value(device_name))
    lesson: str | None = view_field(None, "lesson", values.name("the name of a lesson"))  # the one that is on


@dataclass(frozen=True)
class _Decoding:
    """Fields of decoding. The chosen hypothesis (`path`) belongs to the search tree of one strategy."""

    strategy: str = view_field("greedy", "decode", values.one_of(strategies), drops=("path",))
    width: int = view_field(4, "width", values.number(1, MAX_WIDTH), drops=("path",))
    alpha: float = view_field(LENGTH_PENALTY, "alpha", values.decimal(0, MAX_ALPHA), drops=("path",))
    temperature: float = view_field(0.8, "temperature", _TEMPERATURE, drops=("path",))
    top_k: int = view_field(0, "top_k", values.number(0, MAX_TOP_K), drops=("path",))
    top_p: float = view_field(0.9, "top_p", values.decimal(0, 1, above=True), drops=("path",))
    seed: int = view_field(1, "seed", values.number(0, MAX_SEED), drops=("path",))
    branches: tuple[tuple[int, ...], ...] = view_field((), "branch", values.paths(), undo="step", settles=("word",))
    path: tuple[int, ...] = view_field((), "path", values.path(), undo="step")
    rows: str = view_field("steps", "rows", values.choice(*ROWS))  # of the timeline
    map_kind: str = view_field("cross", "map", values.choice(*ATTENTION_KINDS))  # of the thumbnails and the large map
    more: int = view_field(0, "more", values.number(0, MAX_TOKENS), drops=("path",))  # tokens added to a text; 0: as usual
    guess: bool = view_field(False, "guess", values.switch("first"))  # predict first
    blank_word: str = view_field("", "asked", values.word())  # a word whose probability in a blank is shown


@dataclass(frozen=True)
class _Lecture:
    """Fields of lecture mode, playlists, rooms and homework."""

    lecture: bool = view_field(False, "lecture", values.switch("on", "off"))  # one large picture, driven by keys
    large: int = view_field(1, "large", values.number(1, 9))  # which of a page's large pictures
    talk: str = view_field("", "talk", _TALK)  # a playlist: the name of a ready one, or one packed
    stop: int = view_field(0, "stop", values.number(0, 99))  # of the playlist; 0: none of them yet
    room: str = view_field("", "room", _ROOM)  # the room that the visitor left to explore
    assignment: str = view_field("", "assignment", _ASSIGNMENT)  # the name of a ready one, or one packed
    exercise: int = view_field(0, "task", values.number(0, 99))  # of the assignment; 0: none of them yet
    author: bool = view_field(False, "author", values.switch("on"))  # the assignment is edited


OF_A_LECTURE = tuple(field.name for field in dataclasses.fields(_Lecture))


@dataclass(frozen=True)
class View(
    _Lecture,
    TrainingFields,
    VariantsFields,
    LessonsFields,
    CompareFields,
    WhyFields,
    PositionsFields,
    InsideFields,
    HeadsFields,
    _Decoding,
    _Sentence,
):
    """Everything that changes a picture: the fields of all pages, and a record of fields for single pages.

    A new field is declared in one of these records. Link, undo and dependent fields follow from the declaration.
    """

    @property
    def sentences(self) -> tuple[str, ...]:
        """The text's sentences, or the text alone, or nothing."""
        return split(self.source) if self.split else tuple(filter(None, [self.source.strip()]))

    @property
    def decoding(self) -> Decoding:
        """Returns the decoding settings that the strategy uses; greedy for the visitor's own translation.

        Raises RequestError for values out of range.
        """
        if self.strategy == YOURS:
            return Decoding(max_new_tokens=self.more)
        return Decoding(self.strategy, max_new_tokens=self.more, **self._settings)

    @property
    def _settings(self) -> dict[str, Any]:
        """The fields that the strategy reads, with their values."""
        return {} if self.strategy == YOURS else {name: getattr(self, name) for name in strategy(self.strategy).controls}

    @property
    def is_random(self) -> bool:
        """True where the strategy draws tokens by chance."""
        return self.strategy != YOURS and strategy(self.strategy).is_random

    @property
    def place(self) -> Place:
        """Returns the place that a click on the mask matrix edits."""
        layer = None if self.scope == "all" else self.layer
        head = self.head if self.scope == "head" else None
        return Place(self.kind, layer, head)  # type: ignore[arg-type]

    def request(self) -> Request:
        """The request behind the view; RequestError where it cannot be answered."""
        self._check_work()
        texts = self.sentences or ("",)
        chosen = min(self.sentence, len(texts) - 1)
        return Request(
            source=texts[chosen],
            other_sentences=texts[:chosen] + texts[chosen + 1 :],
            second_sentence="" if len(texts) > 1 else self.second.strip(),
            checkpoint=self.checkpoint,
            target=self.target,
            decoding=self.decoding,
            branches=() if self.target is not None else self.branches,
            path=() if self.target is not None else self.path,
            extra_padding=self.pad,
            mode=self.mode,  # type: ignore[arg-type]
            intervention=self.intervention,
        )

    def _check_work(self) -> None:
        """Raises RequestError for branches that would be decoded for minutes: without the causal mask no step is kept."""
        width = self.decoding.paths
        tokens = 0 if self.target is not None else sum(map(len, self.branches))
        if not self.intervention.causal_mask and self.mode == "again" and width * tokens > MAX_UNCACHED:
            raise RequestError(
                f"Without the causal mask each step reads all before it anew: {tokens} tokens of branches in a beam of "
                f"{width} would take minutes. Take branches back, narrow the beam, or read the given target."
            )

    def fit(
        self,
        layers: int,
        heads: int,
        vocabulary: int,
        kinds: tuple[str, ...] = ATTENTION_KINDS,
        steps: int | None = None,
        step_name: str = "step",
        first: int = 1,
    ) -> tuple[View, tuple[str, ...]]:
        """Returns the view clamped to a checkpoint, and to `steps` of a text if they are known, and a sentence for each
        clamped value. `first` is the first number in these sentences."""
        view, faults = self, []
        if self.kind not in kinds:
            if self.kind != View.kind:  # a default is nobody's mistake, here and below
                faults.append(_lacking(self.kind, kinds))
            view = view.with_fields(kind=kinds[0])
        goes_on = kinds == ("decoder",)
        view = view.with_fields(more=(self.more or DEFAULT_MORE) if goes_on else 0)
        if len(kinds) == 1:  # one text is read, as it stands
            view = view.with_fields(split=False, together=False, pad=self.pad if "encoder" in kinds else 0)
        if "decoder" not in kinds:  # what is read once is not decoded again, nor hidden from what comes before it
            edits = dataclasses.replace(self.intervention, causal_mask=True)
            show = "attention" if self.show in ("decoding", "cache") else self.show
            view = view.with_fields(mode=View.mode, intervention=edits, target=None, show=show)
        if self.find is not None and self.find[0] not in kinds:
            faults.append(_lacking(self.find[0], kinds))
            view = view.with_fields(find=None)
        for name, field, count, instead in (
            ("layer", "layer", layers, layers - 1),
            ("head", "head", heads, None),
            (step_name, "step", steps, (steps or 1) - 1),
        ):
            number = getattr(self, field)
            if number is not None and count is not None and number >= count:
                if number != getattr(View, field):
                    last = count - 1 + first
                    faults.append(f"There is no {name} {number + first}; expected one of {first} to {last}.")
                view = view.with_fields(**{field: instead})
        if self.top_k > vocabulary:
            faults.append(f"The link asks for the {self.top_k:,} likeliest tokens; there are {vocabulary:,}: all are kept.")
            view = view.with_fields(top_k=View.top_k)
        if wrong := [token for ids in (*self.branches, self.path) for token in ids if token >= vocabulary]:
            faults.append(f"The link has the token {wrong[0]}; this checkpoint has tokens up to {vocabulary - 1}.")
            view = view.with_fields(branches=(), path=())
        return view, tuple(faults)

    def head_names(self, kinds: Sequence[AttentionKind]) -> str:
        """Returns the names of the layer's head in these kinds of attention: `encoder 2.1, cross 2.1`."""
        if self.head is None and len(kinds) > 1:
            return f"layer {self.layer + 1}, mean over heads"
        return ", ".join(Site(kind, self.layer).head_name(self.head) for kind in kinds)

    @property
    def merges_layers(self) -> bool:
        """True where the page Heads merges the maps of several layers into one."""
        return self.average != "none"

    @property
    def merged_head(self) -> int | None:
        """The head that the page Heads shows, of one layer or merged over layers; None: all heads. A rollout over layers has
        combined the heads."""
        is_every = self.average == "layers" or (self.merges_layers and self.measure == "rollout")
        return None if is_every else self.head

    def sites_of(self, sites: Sequence[Site]) -> tuple[Site, ...]:
        """Returns the sites whose maps the page Heads merges into one, or the site of the view's layer."""
        return tuple(sites) if self.merges_layers else (self.site_of(sites),)

    def site_of(self, sites: Sequence[Site]) -> Site:
        """Returns the site of the view's layer, or the last where its kind has fewer layers."""
        return sites[min(self.layer, len(sites) - 1)]

    def with_fields(self, **changes: Any) -> View:
        """As `dataclasses.replace`, which takes much longer for so many fields. ValueError for an unknown field."""
        if unknown := changes.keys() - self.__dict__.keys():
            raise ValueError(f"the view has no field {min(unknown)!r}; expected one of {', '.join(self.__dict__)}")
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__, **changes)
        return view

    def at_step(self, step: int | None) -> View:
        """The view at another step."""
        return self if step == self.step else self.with_fields(step=step)

    def within(self, steps: int) -> View:
        """The view at its step, or at the last of `steps` where there are fewer."""
        return self if self.step is None or self.step < steps else self.at_step(steps - 1)


def _lacking(kind: str, kinds: tuple[str, ...]) -> str:
    """Returns the message for a kind of attention that the checkpoint lacks."""
    available = " and ".join(site_kind(each).name for each in kinds)
    return f"There is no {site_kind(kind).name}; this checkpoint has {available}."


def can_hold(field: str, value: Any) -> bool:
    """True for a value that a field of the view may have."""
    default = getattr(View, field)
    return (type(value) is type(default) and value == default) or fields(View)[field].value.holds(value)


def without_edits(request: Request) -> Request:
    """Returns the request without edits: the cache key of results that do not depend on them."""
    return dataclasses.replace(request, intervention=BASELINE, mode="given")
