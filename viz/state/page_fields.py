"""The view's fields of single pages: a record for each page, and the options of its fields."""

from __future__ import annotations

from dataclasses import dataclass

from model.config import SCHEMES
from model.edits.intervention import BASELINE, Intervention
from model.readings.heads.head_maps import COMBINATIONS, MAP_READINGS
from model.readings.heads.head_metrics import METRICS, one_sentence_metrics, orders
from model.readings.stages.model_sizes import LARGEST, PRESETS
from model.readings.tokens.word_readings import READINGS
from model.trace import ATTENTION_KINDS
from model.variants.designs import BASE, VARIANTS
from model.variants.record import SCORES
from model.workshop.small import small_tasks
from model.workshop.small.small_tasks import OWN_PAIRS, TASKS
from viz.state import values
from viz.state.fields import view_field

PARTS = ("stages", "writers", "map", "scale", "length", "lens", "tokens", "embeddings")  # of the page Inside
WHY = ("route", "sum", "patching", "readings")  # parts of the page Why
PIECES = (
    "head",
    "ff",
    "token",
    "position",
    "source",
    "target",
)  # the chosen part of the sum: a head, a feed-forward network, ..., or all that came through a token (`key`)
TESTED = ("step", "whole")  # readings are tested on the token of a step, or on the whole target
CUTS = ("source", "target", "typed")  # whose words are cut into tokens
DIFFERS = ("word", "sentence", "checkpoint", "edits", "head", "hypothesis", "step", "family")  # what may differ on Compare
COMPARED = ("maps", "patching")  # parts of the page Compare
PE_FIGURES = ("table", "curves", "similarity", "distance", "shift", "residual")  # of the page Positions
OF_VARIANTS = ("scores", "curves", "maps", "heads")  # parts of the page Variants
VARIANTS_BY = ("design", "speed", "parameters")  # horizontal axis of their scores
MAX_SIDE_BY_SIDE = 4  # variants with maps side by side
MAX_NEAR = 32  # width of the window that the part Length tries
MAX_PE_WIDTH, MAX_PE_BASE, MAX_PE_COUNT, MAX_PE_SHIFT = 1024, 1e6, 512, 128
LENS_ROWS = ("layer", "sublayer")  # of the part Logit lens
SIZES = ("own", *PRESETS)  # the checkpoint's own size, or that of a known model
AVERAGES = ("none", "layers", "head")  # merged: nothing; all heads of all layers; one head number in all layers
HEADS_OVER = ("sentence", "corpus", "claims")  # what the page Heads shows
ROWS_NAMED = ("written", "read")  # a row of a decoder is named after the token that it writes, or that it reads
EFFECT = "effect"  # of switching a head off, beside the metrics
OF_TRAINING = ("history", "train_one")  # parts of the page Training
OF_LESSONS = ("lessons", "homework")  # parts of the page Lessons
SIZED = ("size_layers", "size_width", "size_heads", "size_ff", "size_vocab")  # fields of a size

_PATCHED = ("patched", "patched_step")  # between two sentences
_PLACE = values.number(1, 999, first=1)
_PLACE_OR_NONE = values.number_or("0", 1, 999, first=1)  # None: chosen automatically
_PAIR = values.joined("a kind of attention and two tokens", values.choice(*ATTENTION_KINDS), _PLACE, _PLACE)

_TRIED = values.text(values.MAX_TRIED, f"at most {values.MAX_TRIED} characters")


def readings() -> tuple[str, ...]:
    """The names of the readings that are tested."""
    return tuple(READINGS)


def metrics() -> tuple[str, ...]:
    """The names of the numbers of a head."""
    return tuple(METRICS)


def over_metrics() -> tuple[str, ...]:
    """The names of the numbers of a head over many sentences."""
    return (*one_sentence_metrics(), EFFECT)


@dataclass(frozen=True)
class HeadsFields:
    """Fields of the page Heads."""

    order: str = view_field("position", "order", values.one_of(orders))  # of the heads: by a number, or by similarity
    measure: str = view_field("weights", "measure", values.choice(*MAP_READINGS))  # of one head's map
    merge: bool = view_field(False, "words", values.switch("merged", "pieces"))  # pieces into words
    hide: bool = view_field(False, "lines", values.switch("content", "all"))  # lines to control tokens and punctuation
    mass: int = view_field(75, "mass", values.number(1, 100))  # per cent of each row's weight whose lines are drawn
    together: bool = view_field(False, "sites", values.switch("all", "one"))  # all sites in one picture
    average: str = view_field("none", "average", values.choice(*AVERAGES))  # what one map merges
    combine: str = view_field("mean", "combine", values.choice(*COMBINATIONS))  # where several heads have one map
    find: tuple[str, int, int] | None = view_field(None, "find", _PAIR)  # heads that link two tokens: site, query, key
    by_row: bool = view_field(False, "colour", values.switch("row", "one"))  # up to each row's maximum, else from 0 to 1
    heads_over: str = view_field("sentence", "over", values.choice(*HEADS_OVER))
    over_metric: str = view_field("largest", "over_by", values.one_of(over_metrics))  # whose distribution is drawn
    rows_named: str = view_field("written", "over_rows", values.choice(*ROWS_NAMED))  # what names the rows of a decoder


@dataclass(frozen=True)
class InsideFields:
    """Fields of the page Inside."""

    part: str = view_field("stages", "part", values.choice(*PARTS))
    stage: int | None = view_field(None, "stage", values.number_or("softmax", 1, 99, first=1))  # of one head
    token: int | None = view_field(None, "token", _PLACE_OR_NONE)  # of the encoder; None: what the step looks at
    key: int | None = view_field(None, "key", _PLACE_OR_NONE)  # of a score; None: the one with the largest weight
    lens_rows: str = view_field("layer", "lens_rows", values.choice(*LENS_ROWS))
    near: str = view_field("", "near", values.word())  # the token whose neighbours are listed; empty: the predicted one
    cut: str = view_field("source", "cut", values.choice(*CUTS))
    cut_word: int | None = view_field(None, "cut_word", _PLACE_OR_NONE)  # of those words; None: the one of the most tokens
    cut_merges: int = view_field(0, "cut_merges", values.number(0, 9999))  # how many of its merges are made
    cut_text: str = view_field("", "cut_text", _TRIED)  # the typed text to tokenize
    near_width: int = view_field(4, "near_w", values.number(1, MAX_NEAR))  # of the window that is tried
    size: str = view_field("own", "size", values.choice(*SIZES), drops=SIZED)
    size_layers: int = view_field(0, "size_n", values.number(0, LARGEST["layers"]))  # of each stack; 0, as below: as it has
    size_width: int = view_field(0, "size_d", values.number(0, LARGEST["d_model"]))
    size_heads: int = view_field(0, "size_h", values.number(0, LARGEST["heads"]))
    size_ff: int = view_field(0, "size_ff", values.number(0, LARGEST["d_ff"]))
    size_vocab: int = view_field(0, "size_v", values.number(0, LARGEST["vocabulary"]))
    size_length: int = view_field(512, "size_l", values.number(1, LARGEST["length"]))  # of a text, in tokens


@dataclass(frozen=True)
class PositionsFields:
    """Fields of the page Positions."""

    scheme: str = view_field("", "scheme", values.one_of(lambda: tuple(SCHEMES)))  # empty: the checkpoint's own
    pe_figure: str = view_field("table", "pe_fig", values.choice(*PE_FIGURES))
    pe_width: int = view_field(0, "pe_d", values.even(2, MAX_PE_WIDTH))  # of the positions; 0: as the checkpoint has it
    pe_base: float = view_field(10000.0, "pe_base", values.decimal(2, MAX_PE_BASE))
    pe_count: int = view_field(64, "pe_n", values.number(2, MAX_PE_COUNT))  # how many positions
    pe_shift: int = view_field(1, "pe_k", values.number(0, MAX_PE_SHIFT))  # the k of PE(p + k)
    pe_pair: int = view_field(0, "pe_i", values.number(0, MAX_PE_WIDTH // 2 - 1))  # the pair of dimensions that is followed


@dataclass(frozen=True)
class WhyFields:
    """Fields of the page Why."""

    rival: int | None = view_field(None, "rival", values.number_or("next", 0, 999_999))  # a token; None: the likeliest other
    why: str = view_field("route", "why", values.choice(*WHY))
    piece: str = view_field("head", "piece", values.choice(*PIECES))
    tested: str = view_field("step", "test", values.choice(*TESTED))
    reading: str = view_field("", "reading", values.one_of(readings))  # whose curves are drawn; empty: the best one's


@dataclass(frozen=True)
class CompareFields:
    """Fields of the page Compare: the one thing that differs from the view on the other side."""

    differs: str = view_field("word", "differs", values.choice(*DIFFERS), drops=_PATCHED)
    compared: str = view_field("maps", "compare", values.choice(*COMPARED))
    swap: int | None = view_field(None, "swap", _PLACE_OR_NONE, drops=_PATCHED)
    # swap: the replaced word; None: that of an example, if present
    swap_to: str = view_field("", "swap_to", values.word(), drops=_PATCHED)  # the replacement; empty: the example's
    other_text: str = view_field("", "other_text", values.long_text(), drops=_PATCHED)
    other_checkpoint: str = view_field("", "other_checkpoint", values.folder())  # empty: the first other one
    other_layer: int | None = view_field(None, "other_layer", _PLACE_OR_NONE)  # None: the view's
    other_head: int | None = view_field(0, "other_head", values.number_or("mean", 0, 999))  # 0: chosen by what differs
    other_path: tuple[int, ...] = view_field((), "other_path", values.path())  # empty: the best other one
    other_step: int | None = view_field(None, "other_step", _PLACE_OR_NONE)  # None: the next one
    patched: Intervention = view_field(BASELINE, "patched", values.patches())  # noqa: RUF009
    # patched: activations from the other sentence; empty: the piece with the largest effect
    patched_step: int | None = view_field(
        None, "patched_step", _PLACE_OR_NONE, drops=("patched",)
    )  # None: the first difference


@dataclass(frozen=True)
class LessonsFields:
    """Fields of the page Lessons."""

    of_lessons: str = view_field("lessons", "learn", values.choice(*OF_LESSONS))


@dataclass(frozen=True)
class TrainingFields:
    """Fields of the page Training."""

    of_training: str = view_field("history", "training", values.choice(*OF_TRAINING))
    run: str = view_field("", "run", values.folder(), drops=("trained", "probe"))  # empty: the checkpoint's own history
    probe: int = view_field(0, "probe", values.number(1, 99, first=1))  # a watched sentence
    trained: int | None = view_field(None, "trained", values.number_or("start", 0, 999_999))  # its step
    grown: str = view_field("previous", "grown", values.one_of(metrics))  # the number of every head, over the steps
    reach: float = view_field(0.5, "reach", values.decimal(0, 1))  # the threshold of that number
    train_task: str = view_field("copy", "train_task", values.choice(*TASKS, OWN_PAIRS))  # of a small model
    train_layers: int = view_field(1, "train_n", values.one_number(*small_tasks.SIZES["layers"]))
    train_heads: int = view_field(2, "train_h", values.one_number(*small_tasks.SIZES["heads"]))
    train_width: int = view_field(32, "train_d", values.one_number(*small_tasks.SIZES["d_model"]))
    train_positions: bool = view_field(True, "train_positions", values.switch("on", "off"))
    train_causal: bool = view_field(True, "train_causal", values.switch("on", "off"))
    train_cross: bool = view_field(True, "train_cross", values.switch("on", "off"))
    train_scaling: bool = view_field(True, "train_scaling", values.switch("on", "off"))
    train_seed: int = view_field(1, "train_seed", values.number(1, 999))


@dataclass(frozen=True)
class VariantsFields:
    """Fields of the page Variants. Its layer and head belong to the variants, not to the view's checkpoint."""

    of_variants: str = view_field("scores", "about", values.choice(*OF_VARIANTS))
    variants_score: str = view_field("bleu", "score", values.choice(*SCORES))
    variants_by: str = view_field("design", "by", values.choice(*VARIANTS_BY))
    side_by_side: tuple[str, ...] = view_field((), "beside", values.several(lambda: tuple(VARIANTS), MAX_SIDE_BY_SIDE))
    # side_by_side: the variants with maps; empty: the first available ones
    beside_kind: str = view_field("cross", "beside_kind", values.choice(*ATTENTION_KINDS))
    beside_layer: int = view_field(1, "beside_layer", values.number(1, 99, first=1))
    beside_head: int | None = view_field(0, "beside_head", values.number_or("mean", 1, 99, first=1))
    returning: str = view_field(BASE, "returning", values.one_of(lambda: tuple(VARIANTS)))  # whose heads over its seeds
