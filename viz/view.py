"""What is looked at, as one frozen value."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from model.decoding.strategy import LENGTH_PENALTY, Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Place
from model.inference.request import Request
from model.text.sentences import split

FIRST_SENTENCE = "The animal didn't cross the street because it was too tired."
MAX_WIDTH = 8  # of a beam on the pages
MAX_TEMPERATURE = 2.0  # on the pages
STRATEGIES = ("greedy", "beam", "sample", "yours")
PARTS = ("stages", "map", "scale", "lens", "embeddings")  # of the page Inside
MAX_PE_WIDTH, MAX_PE_BASE, MAX_PE_COUNT, MAX_PE_SHIFT = 1024, 1e6, 512, 128


@dataclass(frozen=True)
class View:
    """Everything that changes the picture. Layers, heads and steps count from 1, as on the screen."""

    checkpoint: str = "en-fr"
    source: str = FIRST_SENTENCE
    target: str | None = None
    step: int = 1
    layer: int = 3
    head: int | None = 2  # None: the mean over heads
    show: str = "attention"  # or "mask", or "decoding"
    mode: str = "given"  # or "again"
    causal_mask: bool = True
    padding_mask: bool = True
    edits: Intervention = BASELINE  # all edits but the two masks
    pad: int = 0
    kind: str = "encoder"  # whose mask matrix is shown: encoder, decoder or cross
    scope: str = "all"  # what a click on it edits: all layers, the layer, or the head
    experiment: str | None = None
    sentence: int = 1  # which of the text's sentences
    split: bool = True  # the text is read as its sentences, decoded as one batch; else as one
    strategy: str = "greedy"  # or "beam", "sample", "yours": a translation that the visitor gives
    width: int = 4
    alpha: float = LENGTH_PENALTY
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    drawn: tuple[float, int, float] | None = None  # temperature, k and p of the text, where the controls have moved since
    branches: tuple[tuple[int, ...], ...] = ()
    path: tuple[int, ...] = ()
    rows: str = "steps"  # the timeline: one target row, or "shifted" inputs above outputs, or the same as in "training"
    guess: bool = False  # predict first
    order: str = "position"  # of the heads: by a number, or by similarity
    measure: str = "weights"  # of one head's map: or "contribution", "rollout"
    merge: bool = False  # pieces into words
    hide: bool = False  # lines to control tokens and punctuation
    mass: int = 75  # per cent of each row's weight whose lines are drawn
    together: bool = False  # encoder, decoder and cross-attention in one picture
    average: bool = False  # over all layers and heads of a site
    by_row: bool = False  # colours up to each row's maximum, else from 0 to 1
    part: str = "stages"  # of the page Inside: one of PARTS
    stage: int = 1  # of one head unfolded
    token: int = 1  # which source token asks, in the encoder
    near: str = ""  # the word whose neighbours are looked up; empty: the token predicted at the step
    scheme: str = "sinusoidal"  # of positions: or "learned", "rotary"
    pe_width: int = 256  # d_model of the positions that are drawn
    pe_base: float = 10000.0
    pe_count: int = 64  # how many positions are drawn
    pe_shift: int = 1  # the k of PE(p + k)
    pe_pair: int = 0  # which pair of dimensions is followed
    device: str = "auto"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The text's sentences, or the text alone; none where it is empty."""
        return split(self.source) if self.split else tuple(filter(None, [self.source.strip()]))

    @property
    def decoding(self) -> Decoding:
        """How tokens are chosen; RequestError for values out of range. What the strategy does not use stays out."""
        if self.strategy == "beam":
            return Decoding("beam", width=self.width, alpha=self.alpha)
        if self.strategy == "sample":
            temperature, top_k, top_p = self.drawn or (self.temperature, self.top_k, self.top_p)
            return Decoding("sample", temperature=temperature, top_k=top_k, top_p=top_p, seed=self.seed)
        return Decoding()

    @property
    def controls(self) -> Decoding | None:
        """What sampling would draw by now; None where nothing is sampled."""
        if self.strategy != "sample" or self.target is not None:
            return None
        return Decoding("sample", temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)

    @property
    def intervention(self) -> Intervention:
        """All edits together."""
        return dataclasses.replace(self.edits, causal_mask=self.causal_mask, padding_mask=self.padding_mask)

    @property
    def place(self) -> Place:
        """What a click on the mask matrix edits."""
        layer = None if self.scope == "all" else self.layer - 1
        head = None if self.scope != "head" or self.head is None else self.head - 1
        return Place(self.kind, layer, head)  # type: ignore[arg-type]

    def request(self) -> Request:
        """The request behind the view; RequestError where it cannot be answered."""
        texts = self.sentences or ("",)
        chosen = min(self.sentence, len(texts)) - 1
        return Request(
            source=texts[chosen],
            other_sentences=texts[:chosen] + texts[chosen + 1 :],
            checkpoint=self.checkpoint,
            target=self.target,
            decoding=self.decoding,
            branches=() if self.target is not None else self.branches,
            path=() if self.target is not None else self.path,
            pad=self.pad,
            mode=self.mode,  # type: ignore[arg-type]
            intervention=self.intervention,
        )

    def fit(self, layers: int, heads: int, vocabulary: int) -> tuple[View, tuple[str, ...]]:
        """The view with a layer, a head and tokens that the checkpoint has, and a sentence for each that it has not."""
        view, faults = self, []
        if self.layer > layers:
            if self.layer != View.layer:  # the default is nobody's mistake
                faults.append(f"The link asks for layer {self.layer}; this checkpoint has layers 1 to {layers}.")
            view = dataclasses.replace(view, layer=layers)
        if self.head is not None and self.head > heads:
            if self.head != View.head:
                faults.append(f"The link asks for head {self.head}; this checkpoint has heads 1 to {heads}.")
            view = dataclasses.replace(view, head=None)
        if wrong := [token for ids in (*self.branches, self.path) for token in ids if token >= vocabulary]:
            faults.append(f"The link has the token {wrong[0]}; this checkpoint has tokens up to {vocabulary - 1}.")
            view = dataclasses.replace(view, branches=(), path=())
        return view, tuple(faults)

    def within(self, steps: int) -> View:
        """The view at its step, or at the last of `steps` where there are fewer."""
        return self if self.step <= steps else dataclasses.replace(self, step=steps)


def with_intervention(intervention: Intervention) -> dict[str, Any]:
    """The fields of a view that hold an intervention."""
    masks = {"causal_mask": intervention.causal_mask, "padding_mask": intervention.padding_mask}
    return masks | {"edits": dataclasses.replace(intervention, causal_mask=True, padding_mask=True)}


def unedited(request: Request) -> Request:
    """The same request without its edits: the key of what does not depend on them."""
    return dataclasses.replace(request, intervention=BASELINE, mode="given")
