"""Example values of the view's fields in a link, and one link with all fields."""

from __future__ import annotations

import dataclasses
from urllib.parse import parse_qsl

from model.config import END, MAX_TOKENS, SCHEMES
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import MAX_ALPHA, MAX_SEED
from model.inference.request import MAX_PAD, MAX_SENTENCES
from model.readings.heads.head_maps import MAP_READINGS
from model.readings.heads.head_metrics import orders
from model.trace import KINDS
from model.variants.designs import VARIANTS
from model.variants.record import SCORES
from tests.support import tiny
from viz.state import page_fields as own
from viz.state.values import MAX_BRANCHES, MAX_TRIED, MAX_WORD
from viz.state.view import MAX_TEMPERATURE, MAX_TOP_K, MAX_WIDTH, ROWS, SCOPES, SHOWABLE, strategies

TEXTS = ("مرحبا بالعالم 你好 😀\u200d\u202e", "</s> <pad> <script>alert(1)</script> &amp; &lt;", "a=b&c=d;e%20f+g#h")
# parameter of the link: field of the view, values that it may have, the least and the largest among them
FIELDS = {
    "text": ("source", ("", "Nine owls — «déjà vu» & 100 % + #1?", "  two spaces,\ta tab and\na line  ", *TEXTS)),
    "second": ("second", ("", "None", "They hoot — «ho» & + #1?", *TEXTS)),
    "own": ("own_text", ("", "My own — «texte» & + #1?", *TEXTS)),
    "asked": ("asked", ("", "owl", "<script>", "x" * MAX_WORD)),
    "target": ("target", ("", "None", "L'été.", "Neuf hiboux = 9 🦉")),
    "step": ("step", (1, 7, 999)),
    "layer": ("layer", (1, 3, 999)),
    "head": ("head", (None, 1, 8)),
    "show": ("show", SHOWABLE),
    "mode": ("mode", ("given", "again")),
    "causal": ("causal_mask", (True, False)),
    "padmask": ("padding_mask", (True, False)),
    "edits": ("edits", (tiny.edited("scaling-off", "window-3", "off_cross.3.5", "block_enc_9-2"),)),
    "pad": ("pad", (0, 3, MAX_PAD)),
    "kind": ("kind", KINDS),
    "scope": ("scope", SCOPES),
    "try": ("experiment", ("order",)),
    "checkpoint": ("checkpoint", ("my-model_2.1", "my(model)", "a b", "l'été <b>")),
    "device": ("device", ("auto", "cpu", "cuda", "mps")),
    "lesson": ("lesson", ("cell",)),
    "decode": ("strategy", strategies()),
    "width": ("width", (1, 3, MAX_WIDTH)),
    "alpha": ("alpha", (0.0, 0.6, 0.125, MAX_ALPHA)),
    "temperature": ("temperature", (0.0, MIN_TEMPERATURE, 0.05, 0.7, MAX_TEMPERATURE)),
    "top_k": ("top_k", (0, 1, 40, MAX_TOP_K)),
    "top_p": ("top_p", (0.01, 1e-09, 0.95, 1.0)),
    "seed": ("seed", (0, 7, MAX_SEED)),
    "more": ("more", (0, 1, 40, MAX_TOKENS)),
    "branch": (
        "branches",
        (((5,),), ((END,),), ((5, 6, END), (5, 7), (7999,)), tuple((n,) for n in range(3, 3 + MAX_BRANCHES))),
    ),
    "path": ("path", ((5,), (END,), (5, 6, 7, END), tuple(range(3, 3 + MAX_TOKENS)))),
    "sentence": ("sentence", (1, 2, MAX_SENTENCES)),
    "split": ("split", (True, False)),
    "rows": ("rows", ROWS),
    "guess": ("guess", (True, False)),
    "order": ("order", orders()),
    "measure": ("measure", MAP_READINGS),
    "words": ("merge", (True, False)),
    "lines": ("hide", (True, False)),
    "mass": ("mass", (1, 50, 75, 100)),
    "sites": ("together", (True, False)),
    "average": ("average", (True, False)),
    "find": ("find", tuple((kind, 1, 999) for kind in KINDS)),
    "rival": ("rival", (0, 7, 999_999)),
    "differs": ("differs", own.DIFFERS),
    "compare": ("compared", own.COMPARED),
    "swap": ("swap", (0, 1, 999)),
    "swap_to": ("swap_to", ("", "wide", "<script>", "l'été", "🦉", "x" * MAX_WORD)),
    "other_text": ("other_text", ("", "Ten owls — «déjà vu» & 100 %", *TEXTS)),
    "other_checkpoint": ("other_checkpoint", ("my-model_2.1", "a b", "l'été <b>")),
    "other_layer": ("other_layer", (0, 3, 999)),
    "other_head": ("other_head", (None, 1, 8)),
    "other_path": ("other_path", ((5,), (END,), (5, 6, 7, END))),
    "other_step": ("other_step", (0, 7, 999)),
    "patched": (
        "patched",
        (tiny.edited(), dataclasses.replace(tiny.edited("patch_enc.2_9", "patch_z_cross.3.5_all"), donor="")),
    ),
    "patched_step": ("patched_step", (0, 7, 999)),
    "why": ("why", own.WHY),
    "piece": ("piece", own.PIECES),
    "test": ("tested", own.TESTED),
    "reading": ("reading", own.readings()),
    "run": ("run", ("mine", "a b", "l'été <b>")),
    "probe": ("probe", (1, 7, 99)),
    "trained": ("trained", (None, 0, 1103, 999_999)),
    "grown": ("grown", own.metrics()),
    "reach": ("reach", (0.0, 0.35, 1.0)),
    "lecture": ("lecture", (True, False)),
    "large": ("large", (1, 2, 9)),
    "talk": ("talk", ("attention", "~eNqrVspUslJKLFKqBQAPZgLz", "<script>")),
    "stop": ("stop", (0, 1, 99)),
    "room": ("room", ("", "Z23456")),
    "colour": ("by_row", (True, False)),
    "part": ("part", own.PARTS),
    "stage": ("stage", (1, 4, 99)),
    "token": ("token", (1, 128)),
    "key": ("key", (0, 3, 999)),
    "cut": ("cut", own.CUTS),
    "cut_word": ("cut_word", (0, 3, 999)),
    "cut_merges": ("cut_merges", (0, 7, 9999)),
    "cut_text": ("cut_text", ("", " owl", "<script>", "🦉", "x" * MAX_TRIED)),
    "near_w": ("near_width", (1, 4, own.MAX_NEAR)),
    "size": ("size", own.SIZES),
    "size_n": ("size_layers", (1, 12, 200)),
    "size_d": ("size_width", (1, 512, 65_536)),
    "size_h": ("size_heads", (1, 8, 512)),
    "size_ff": ("size_ff", (1, 2048, 524_288)),
    "size_v": ("size_vocab", (1, 37_000, 999_999)),
    "size_l": ("size_length", (1, 512, 999_999)),
    "about": ("of_variants", own.OF_VARIANTS),
    "score": ("variants_score", tuple(SCORES)),
    "by": ("variants_by", own.VARIANTS_BY),
    "beside": ("beside", (("base",), ("modern", "heads-8"), tuple(VARIANTS)[: own.MAX_SIDE_BY_SIDE])),
    "beside_kind": ("beside_kind", KINDS),
    "beside_layer": ("beside_layer", (1, 3, 99)),
    "beside_head": ("beside_head", (None, 1, 99)),
    "returning": ("returning", tuple(VARIANTS)),
    "near": ("near", ("", "owl", "<script>", "l'été", "🦉", "x" * MAX_WORD)),
    "scheme": ("scheme", tuple(SCHEMES)),
    "pe_d": ("pe_width", (2, 64, own.MAX_PE_WIDTH)),
    "pe_base": ("pe_base", (2.0, 10000.0, 123.456, own.MAX_PE_BASE)),
    "pe_n": ("pe_count", (2, 64, own.MAX_PE_COUNT)),
    "pe_k": ("pe_shift", (0, 1, own.MAX_PE_SHIFT)),
    "pe_i": ("pe_pair", (0, 1, own.MAX_PE_WIDTH // 2 - 1)),
}
GOOD = dict(
    parse_qsl(
        "text=Nine+owls.+Ten.&second=They+hoot.&own=My+own+owl.&asked=owl&target=Neuf+hiboux.&step=7&layer=1&head=8"
        "&show=mask&mode=again&causal=off&padmask=off&pad=5&edits=skip_dec.2.ff~source-positions_off&kind=decoder"
        "&scope=layer&try=skip&checkpoint=mine&device=cpu&lesson=cell&decode=sample&width=2&alpha=0.6&temperature=0.7"
        "&top_k=40&top_p=0.95&seed=7&more=40&branch=5-6~5-7-2&path=5-7&sentence=3&split=off&rows=shifted&guess=first"
        "&order=entropy&measure=rollout&words=merged&lines=content&mass=90&sites=all&average=layers&find=cross_9_2"
        "&rival=7&differs=step&compare=patching&swap=3&swap_to=wide&other_text=Ten+owls.&other_checkpoint=theirs"
        "&other_layer=2&other_head=mean&other_path=5-8&other_step=9&patched=patch_enc.2_9~patch_z_enc.2.6_all"
        "&patched_step=11&why=readings&piece=ff&test=whole&reading=occlusion&run=mine&probe=3&trained=1103&grown=entropy"
        "&reach=0.3&lecture=on&large=2&talk=attention&stop=3&room=Z23456&colour=row&part=map&stage=4&token=3&key=2"
        "&near=owl&near_w=7&size=gpt2-xl&size_n=3&size_d=128&size_h=16&size_ff=99&size_v=1234&size_l=4096&about=maps"
        "&score=chrf&by=speed&beside=base~modern&beside_kind=encoder&beside_layer=3&beside_head=mean&returning=heads-8"
        "&cut=target&cut_word=2&cut_merges=3&cut_text=owls&scheme=learned&pe_d=64&pe_base=500&pe_n=128&pe_k=7&pe_i=5"
    )
)
