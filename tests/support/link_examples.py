"""Example values of the view's fields in a link, and one link with all fields."""

from __future__ import annotations

import dataclasses

from model.config import END, MAX_TOKENS, SCHEMES
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import MAX_ALPHA, MAX_SEED
from model.edits.intervention import BASELINE, Intervention
from model.inference.request import MAX_PAD, MAX_SENTENCES
from model.readings.heads.head_maps import COMBINATIONS, MAP_READINGS
from model.readings.heads.head_metrics import orders
from model.trace import ATTENTION_KINDS
from model.variants.designs import VARIANTS
from model.variants.record import SCORES
from model.workshop.small.small_tasks import OWN_PAIRS, SIZES, TASKS
from tests.support import tiny
from viz.state import page_fields
from viz.state.values import MAX_BRANCHES, MAX_TRIED, MAX_WORD
from viz.state.view import MAX_TEMPERATURE, MAX_TOP_K, MAX_WIDTH, ROWS, SCOPES, SHOWABLE, strategies

TEXTS = ("مرحبا بالعالم 你好 😀\u200d\u202e", "</s> <pad> <script>alert(1)</script> &amp; &lt;", "a=b&c=d;e%20f+g#h")
# parameter of the link: field of the view, example values with the least and the largest, and a text of it in a link
_EXAMPLES = {
    "text": (
        "source",
        ("", "Nine owls — «déjà vu» & 100 % + #1?", "  two spaces,\ta tab and\na line  ", *TEXTS),
        "Nine owls. Ten.",
    ),
    "second": ("second", ("", "None", "They hoot — «ho» & + #1?", *TEXTS), "They hoot."),
    "own": ("own_text", ("", "My own — «texte» & + #1?", *TEXTS), "My own owl."),
    "asked": ("blank_word", ("", "owl", "<script>", "x" * MAX_WORD), "owl"),
    "target": ("target", ("", "None", "L'été.", "Neuf hiboux = 9 🦉"), "Neuf hiboux."),
    "step": ("step", (0, 6, 998), "7"),
    "layer": ("layer", (0, 2, 998), "1"),
    "head": ("head", (None, 0, 7), "8"),
    "show": ("show", SHOWABLE, "mask"),
    "mode": ("mode", ("given", "again"), "again"),
    "causal": ("intervention", (BASELINE, Intervention(causal_mask=False)), "off"),
    "padmask": ("intervention", (BASELINE, Intervention(padding_mask=False)), "off"),
    "edits": (
        "intervention",
        (tiny.edited("scaling-off", "window-3", "off_cross.3.5", "block_enc_9-2"),),
        "skip_dec.2.ff~source-positions_off",
    ),
    "pad": ("pad", (0, 3, MAX_PAD), "5"),
    "kind": ("kind", ATTENTION_KINDS, "decoder"),
    "scope": ("scope", SCOPES, "layer"),
    "try": ("experiment", ("order",), "skip"),
    "checkpoint": ("checkpoint", ("my-model_2.1", "my(model)", "a b", "l'été <b>"), "mine"),
    "device": ("device", ("auto", "cpu", "cuda", "mps"), "cpu"),
    "lesson": ("lesson", ("cell",), "cell"),
    "decode": ("strategy", strategies(), "sample"),
    "width": ("width", (1, 3, MAX_WIDTH), "2"),
    "alpha": ("alpha", (0.0, 0.6, 0.125, MAX_ALPHA), "0.6"),
    "temperature": ("temperature", (0.0, MIN_TEMPERATURE, 0.05, 0.7, MAX_TEMPERATURE), "0.7"),
    "top_k": ("top_k", (0, 1, 40, MAX_TOP_K), "40"),
    "top_p": ("top_p", (0.01, 1e-09, 0.95, 1.0), "0.95"),
    "seed": ("seed", (0, 7, MAX_SEED), "7"),
    "more": ("more", (0, 1, 40, MAX_TOKENS), "40"),
    "branch": (
        "branches",
        (((5,),), ((END,),), ((5, 6, END), (5, 7), (7999,)), tuple((n,) for n in range(3, 3 + MAX_BRANCHES))),
        "5-6~5-7-2",
    ),
    "path": ("path", ((5,), (END,), (5, 6, 7, END), tuple(range(3, 3 + MAX_TOKENS))), "5-7"),
    "sentence": ("sentence", (0, 1, MAX_SENTENCES - 1), "3"),
    "split": ("split", (True, False), "off"),
    "rows": ("rows", ROWS, "shifted"),
    "map": ("map_kind", ATTENTION_KINDS, "decoder"),
    "guess": ("guess", (True, False), "first"),
    "order": ("order", orders(), "entropy"),
    "measure": ("measure", MAP_READINGS, "rollout"),
    "words": ("merge", (True, False), "merged"),
    "lines": ("hide", (True, False), "content"),
    "mass": ("mass", (1, 50, 75, 100), "90"),
    "sites": ("together", (True, False), "all"),
    "combine": ("combine", COMBINATIONS, "max"),
    "average": ("average", (True, False), "layers"),
    "find": ("find", tuple((kind, 0, 998) for kind in ATTENTION_KINDS), "cross_9_2"),
    "rival": ("rival", (0, 7, 999_999), "7"),
    "differs": ("differs", page_fields.DIFFERS, "step"),
    "compare": ("compared", page_fields.COMPARED, "patching"),
    "swap": ("swap", (None, 0, 998), "3"),
    "swap_to": ("swap_to", ("", "wide", "<script>", "l'été", "🦉", "x" * MAX_WORD), "wide"),
    "other_text": ("other_text", ("", "Ten owls — «déjà vu» & 100 %", *TEXTS), "Ten owls."),
    "other_checkpoint": ("other_checkpoint", ("my-model_2.1", "a b", "l'été <b>"), "theirs"),
    "other_layer": ("other_layer", (None, 2, 998), "2"),
    "other_head": ("other_head", (None, 1, 8), "mean"),
    "other_path": ("other_path", ((5,), (END,), (5, 6, 7, END)), "5-8"),
    "other_step": ("other_step", (None, 6, 998), "9"),
    "patched": (
        "patched",
        (tiny.edited(), dataclasses.replace(tiny.edited("patch_enc.2_9", "patch_z_cross.3.5_all"), donor="")),
        "patch_enc.2_9~patch_z_enc.2.6_all",
    ),
    "patched_step": ("patched_step", (None, 6, 998), "11"),
    "why": ("why", page_fields.WHY, "readings"),
    "piece": ("piece", page_fields.PIECES, "ff"),
    "test": ("tested", page_fields.TESTED, "whole"),
    "reading": ("reading", page_fields.readings(), "occlusion"),
    "run": ("run", ("mine", "a b", "l'été <b>"), "mine"),
    "probe": ("probe", (0, 6, 98), "3"),
    "trained": ("trained", (None, 0, 1103, 999_999), "1103"),
    "grown": ("grown", page_fields.metrics(), "entropy"),
    "training": ("of_training", page_fields.OF_TRAINING, "train_one"),
    "train_task": ("train_task", (*TASKS, OWN_PAIRS), "sort"),
    "train_n": ("train_layers", SIZES["layers"], "2"),
    "train_h": ("train_heads", SIZES["heads"], "4"),
    "train_d": ("train_width", SIZES["d_model"], "64"),
    "train_positions": ("train_positions", (True, False), "off"),
    "train_causal": ("train_causal", (True, False), "off"),
    "train_cross": ("train_cross", (True, False), "off"),
    "train_scaling": ("train_scaling", (True, False), "off"),
    "train_seed": ("train_seed", (1, 7, 999), "7"),
    "reach": ("reach", (0.0, 0.35, 1.0), "0.3"),
    "lecture": ("lecture", (True, False), "on"),
    "large": ("large", (1, 2, 9), "2"),
    "talk": ("talk", ("attention", "~eNqrVspUslJKLFKqBQAPZgLz", "<script>"), "attention"),
    "stop": ("stop", (0, 1, 99), "3"),
    "room": ("room", ("", "Z23456"), "Z23456"),
    "colour": ("by_row", (True, False), "row"),
    "over": ("heads_over", page_fields.HEADS_OVER, "corpus"),
    "over_by": ("over_metric", page_fields.over_metrics(), "end"),
    "over_rows": ("rows_named", page_fields.ROWS_NAMED, "read"),
    "part": ("part", page_fields.PARTS, "map"),
    "stage": ("stage", (None, 3, 98), "4"),
    "token": ("token", (None, 127), "3"),
    "lens_rows": ("lens_rows", page_fields.LENS_ROWS, "sublayer"),
    "key": ("key", (None, 2, 998), "2"),
    "cut": ("cut", page_fields.CUTS, "target"),
    "cut_word": ("cut_word", (None, 2, 998), "2"),
    "cut_merges": ("cut_merges", (0, 7, 9999), "3"),
    "cut_text": ("cut_text", ("", " owl", "<script>", "🦉", "x" * MAX_TRIED), "owls"),
    "near_w": ("near_width", (1, 4, page_fields.MAX_NEAR), "7"),
    "size": ("size", page_fields.SIZES, "gpt2-xl"),
    "size_n": ("size_layers", (1, 12, 200), "3"),
    "size_d": ("size_width", (1, 512, 65_536), "128"),
    "size_h": ("size_heads", (1, 8, 512), "16"),
    "size_ff": ("size_ff", (1, 2048, 524_288), "99"),
    "size_v": ("size_vocab", (1, 37_000, 999_999), "1234"),
    "size_l": ("size_length", (1, 512, 999_999), "4096"),
    "about": ("of_variants", page_fields.OF_VARIANTS, "maps"),
    "score": ("variants_score", tuple(SCORES), "chrf"),
    "by": ("variants_by", page_fields.VARIANTS_BY, "speed"),
    "beside": (
        "side_by_side",
        (("base",), ("modern", "heads-8"), tuple(VARIANTS)[: page_fields.MAX_SIDE_BY_SIDE]),
        "base~modern",
    ),
    "beside_kind": ("beside_kind", ATTENTION_KINDS, "encoder"),
    "beside_layer": ("beside_layer", (0, 2, 98), "3"),
    "beside_head": ("beside_head", (None, 0, 98), "mean"),
    "returning": ("returning", tuple(VARIANTS), "heads-8"),
    "near": ("near", ("", "owl", "<script>", "l'été", "🦉", "x" * MAX_WORD), "owl"),
    "scheme": ("scheme", tuple(SCHEMES), "learned"),
    "pe_fig": ("pe_figure", page_fields.PE_FIGURES, "shift"),
    "pe_d": ("pe_width", (2, 64, page_fields.MAX_PE_WIDTH), "64"),
    "pe_base": ("pe_base", (2.0, 10000.0, 123.456, page_fields.MAX_PE_BASE), "500"),
    "pe_n": ("pe_count", (2, 64, page_fields.MAX_PE_COUNT), "128"),
    "pe_k": ("pe_shift", (0, 1, page_fields.MAX_PE_SHIFT), "7"),
    "pe_i": ("pe_pair", (0, 1, page_fields.MAX_PE_WIDTH // 2 - 1), "5"),
}
FIELDS = {name: (field, values) for name, (field, values, _) in _EXAMPLES.items()}
GOOD = {name: text for name, (_, _, text) in _EXAMPLES.items()}
