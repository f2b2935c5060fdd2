"""Arguments that cannot be used are refused in one line, each by the function that reads them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from model.checkpoint import CheckpointError
from model.config import ModelConfig
from model.decoding.search import beam, greedy, sample
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import EditError, parse
from model.experiments import faithfulness, ready_questions
from model.experiments.foreign_leaks import leak_test_callable
from model.experiments.label_test import label_test
from model.inference.analyse import analyse
from model.inference.predictions import kl_divergence
from model.inference.request import Request, RequestError
from model.network import masks
from model.network.attention_methods import window_attention
from model.network.transformer import EncoderDecoder
from model.readings.heads.head_maps import head_map
from model.readings.heads.head_metrics import order
from model.readings.logits.direct_logits import blank_logits, direct_logits, lens
from model.readings.logits.score_writers import score_writers
from model.readings.stages.blueprint import blueprint
from model.readings.stages.layer_inputs import other_patterns
from model.readings.stages.model_sizes import PRESETS, Architecture
from model.readings.stages.scaling import simulate_scaling, site_scaling
from model.readings.stages.unfold import unfold
from model.readings.tokens.neighbours import cosines, pieces_of
from model.text.tokenizer import Tokenizer
from model.trace import Probe, Site
from model.workshop.corpus.corpus import Corpus, DataError
from model.workshop.corpus.windows import Masking
from model.workshop.evaluation.count_baselines import NGrams
from model.workshop.evaluation.measures import InputSelection
from model.workshop.reports.alignment_report import measure_alignment as measure_alignment
from model.workshop.reports.seed_matching import assignment
from model.workshop.tasks.translation import TranslationEpochs
from model.workshop.training.tasks import get_task
from tests.support import tiny

TEXT = "The red fox takes a lamp."
ENCODER, PADDED = Site("encoder", 0), tiny.padded([5], 6)
ALONE = {"family": "encoder-only", "decoder_layers": 0}
JUDGES = ALONE | {"source_start": True, "segments": 2, "pooler": True, "follows": True, "classes": ("no", "yes")}
BASE = PRESETS["base"].architecture


def config(**changes):
    return lambda: ModelConfig(**({"source_vocab": 300, "target_vocab": 300} | changes))


def judge(**changes):
    return lambda: tiny.config(**(JUDGES | changes))


def decode(search, *args, **options):
    return lambda: search(tiny.lively(), tiny.ids(1, 4), *args, **options)


WITHOUT_A_MODEL = [
    (lambda: masks.causal_mask(3, 2), "3 queries over 2 keys; expected no more queries than keys"),
    (lambda: masks.sliding_window(2, 2, 0), "window's width is 0; expected at least 1"),
    (lambda: masks.build(tiny.config(), tiny.ids(3, 2), tiny.target_ids(3, 2), [BASELINE] * 2), "2 interventions for 3"),
    (lambda: window_attention(*[torch.ones(1, 1, 2, 2)] * 3, True, 0), "the window's width is 0; expected at least 1"),
    (decode(beam, 0), "the beam's width is 0; expected at least 1"),
    (decode(beam, 2, -1.0), "alpha is -1.0; expected a number of at least 0"),
    (decode(beam, 2, math.nan), "alpha is nan; expected a number of at least 0"),
    (decode(beam, 2, prefix=[5, 6, 7], max_total_tokens=3), "the prefix has 3 tokens; expected fewer than the limit of 3"),
    (decode(greedy, prefix=[5, 6, 7], max_total_tokens=3), "the prefix has 3 tokens; expected fewer than the limit of 3"),
    (decode(sample, 1, prefix=[5, 6, 7], max_total_tokens=3), "the prefix has 3 tokens; expected fewer than the limit of 3"),
    (lambda: Decoding("dice"), "The decoding strategy is 'dice'; expected 'greedy', 'beam' or 'sample'"),
    (lambda: Decoding("sample", seed=-1), "The seed is -1; expected a whole number from 0 to"),
    (lambda: Request("x", other_sentences=("x",) * 16), "There are 17 sentences; expected at most 16"),
    (lambda: Request("x", other_sentences=(" ",)), "A sentence of the batch is empty"),
    (lambda: Request("x", branches=((),)), "A branch is empty"),
    (lambda: Request("A lamp.", second_sentence=" "), "The second sentence is empty"),
    (
        lambda: Request("A lamp.", second_sentence="A boat.", other_sentences=("A fox.",)),
        "A second sentence and a batch are given",
    ),
    (lambda: Intervention(window=0), "The window's width is 0; expected 1 to 128"),
    (lambda: BASELINE.with_edit("window-129"), "The window's width is 129; expected 1 to 128"),
    (lambda: BASELINE.with_edit("causal-on"), "“causal-on” is no edit; expected one such as"),
    (lambda: tiny.logits(tiny.model(), PADDED, tiny.ids(1, 5), tiny.edited("row_cross_1-6")), "where the mask forbids it"),
    (lambda: tiny.logits(tiny.model(), PADDED, tiny.ids(1, 5), tiny.edited("row_dec_2-3")), "where the mask forbids it"),
    (lambda: parse("off_enc.0"), "An edit names number 0; expected numbers from 1"),
    (lambda: InputSelection(join=(1, 3)), "--join is 1-3; expected as 3-5 or 4, with 2 to 10 sentences"),
    (lambda: InputSelection(at_least=0), "--at-least is 0; expected at least 1 word"),
    (lambda: InputSelection(limit=0), "--limit is 0; expected at least 1"),
    (lambda: InputSelection(seed=-1), "--seed is -1; expected at least 0"),
    (lambda: InputSelection(at_least=99).select(tiny.PAIRS), "no sentence has 99 words; give a smaller --at-least"),
    (
        lambda: InputSelection(join=(3, 5), limit=2).select(tiny.PAIRS),
        "there are 2 sentences; expected at least 3, to join as many",
    ),
    (lambda: NGrams([np.array([], int)], 3, 2), "the order is 2, the texts have 0 symbols; expected at least 1 each"),
    (lambda: NGrams([np.array([1])], 3, 0), "the order is 0"),
    (lambda: assignment(np.ones((2, 3))), r"shape \(2, 3\)"),
    (lambda: assignment(np.full((2, 2), np.nan)), "no finite"),
    (lambda: Tokenizer.train(tiny.SENTENCES, 259), "vocabulary size is 259; expected at least 260"),
    (lambda: kl_divergence(np.zeros((2, 5)), np.zeros((2, 4))), "the shapes are .*; expected equal ones"),
    (lambda: Probe("all"), "the probe's level is 'all'; expected 'maps' or 'full'"),
    (lambda: get_task("dance"), "the task is 'dance'; expected one of"),
    (lambda: simulate_scaling(1), "over 1 key is always 1; expected at least 2"),
    (lambda: order(np.full((2, 3, 3), 1 / 3), "size"), "There is no order 'size'; expected one of position, entropy"),
    (lambda: BASE.resized(heads=7), "7 heads cannot share a width d_model of 512; expected a multiple of 7, as 511"),
    (lambda: BASE.resized(vocabulary=10**6), "vocabulary is 1,000,000; expected 1 to 999,999"),
    (lambda: Architecture("decoder-only", 0, 201, 8, 2, 8, 10), "decoder_layers is 201; expected 0 to 200"),
    (
        lambda: leak_test_callable(lambda *_: np.zeros((2, 5)), [3], [1, 4, 5], vocabulary=9),
        r"the shape \(2, 5\); expected \(3",
    ),
    (lambda: leak_test_callable(lambda *_: np.full((3, 5), np.nan), [3], [1, 4, 5], vocabulary=9), "numbers that are NaN"),
    (lambda: EncoderDecoder(tiny.config(family="decoder-only", encoder_layers=0)), "decoder-only; expected encoder-decoder"),
    (config(family="encoder-only"), "decoder_layers is 4; expected 0, for a model that is encoder-only has no decoder"),
    (config(family="decoder-only"), "encoder_layers is 4; expected 0, for a model that is decoder-only has no encoder"),
    (config(family="encoder"), "family is 'encoder'; expected one of encoder-decoder, encoder-only, decoder-only"),
    (config(joint_vocab=False, **ALONE), "joint_vocab is False; expected True, for a model that is encoder-only"),
    (judge(segments=3), "segments is 3; expected 0 or 2"),
    (judge(pooler=False, classes=()), "follows is True; expected False, for the model has no pooler"),
    (judge(pooling="last"), "pooling is 'last'; expected one of first, mean"),
    (judge(source_start=False), "source_start is False; expected True, for the pooler reads the state of the first token"),
    (judge(classes=("yes", "yes")), "expected 2 to 100 different labels"),
    (judge(classes=("yes", "n\no")), "of at most 40 printable characters"),
    (judge(classes="yes"), "classes is 'yes'; expected a list of texts"),
    (judge(family="encoder-decoder", decoder_layers=2, source_start=False), "segments is 2; expected 0"),
]


@pytest.mark.parametrize(("use", "message"), WITHOUT_A_MODEL, ids=[message[:40] for _, message in WITHOUT_A_MODEL])
def test_impossible_argument_is_refused(use, message):
    with pytest.raises(ValueError, match=message) as caught:
        use()
    assert "\n" not in str(caught.value)


def epochs(lab, **changes):
    from model.config import TrainConfig

    pairs, tokenizer = [("The sun rose.", "Le soleil se leva.")], lab.source_tokenizer
    return TranslationEpochs(
        Corpus.encode(pairs, tokenizer, tokenizer), pairs, tokenizer, tokenizer, TrainConfig(**changes), pairs
    )


def shown(lab, **more):
    return analyse(lab, Request(**({"source": TEXT} | more)))


WITH_A_MODEL = [
    (lambda lab: Masking(lab.source_tokenizer, 0.15), r"no blank token; expected <mask> or \[MASK\]"),
    (lambda lab: epochs(lab, renamed_share=0.1), "--renamed-share: no pair has a replaceable name"),
    (lambda lab: epochs(lab, renumbered_share=0.1), "--renumbered-share: no pair has a replaceable number"),
    (lambda lab: shown(lab, prefix="qqq", decoding=Decoding(max_total_tokens=3)), "The prefix has 3 tokens; expected"),
    (lambda lab: shown(lab, source="q" * 128), "The sentence has 129 tokens"),
    (lambda lab: shown(lab, intervention=tiny.edited("mean_enc.1")), "needs the heads' means, which this"),
    (lambda lab: shown(lab, second_sentence="A boat."), "This model reads one sentence at a time: leave the second one out"),
    (lambda lab: shown(lab, intervention=tiny.edited("off_enc.3")), "names layer 3; this checkpoint has 2 there"),
    (
        lambda lab: shown(lab, extra_padding=1, intervention=tiny.edited("row_cross_1-99")),
        "names column 99; expected at most",
    ),
    (
        lambda lab: faithfulness.faithfulness_test(lab, shown(lab, source="fox"), 0, 9),
        "The sentence has 1 word; ranking needs at least 2",
    ),
    (
        lambda lab: faithfulness.faithfulness_test(lab, shown(lab, intervention=tiny.edited("padding-off")), 0, 9),
        "The padding mask is off",
    ),
    (lambda lab: label_test(lab, shown(lab), 0, 1), "this model has no labels"),
    (lambda lab: blueprint(lab, 0, 3), "_length is 0; expected at least 1"),
    (lambda lab: head_map(shown(lab).trace, {}, ENCODER, 0, "gradient"), "There is no measure 'gradient'; expected one of"),
    (lambda lab: site_scaling(lab, shown(lab), Site("cross", 7)), "no layer 8 here"),
    (lambda lab: other_patterns(lab, shown(lab), Site("encoder", 8), 3), "This checkpoint has no layer 9 here"),
    (lambda lab: other_patterns(lab, shown(lab), ENCODER, 0), "the window's width is 0"),
    (lambda lab: score_writers(lab, shown(lab), ENCODER, 0, 99, 0), "There is no query 100"),
    (lambda lab: score_writers(lab, shown(lab), ENCODER, 0, 0, 99), "There is no key 100"),
    (lambda lab: score_writers(lab, shown(lab), ENCODER, 9, 0, 0), "there is no head 9"),
    (lambda lab: direct_logits(lab, shown(lab), 999, 5, 6), "the step is 999"),
    (lambda lab: direct_logits(lab, shown(lab), 0, 5, 5), "the token itself"),
    (lambda lab: direct_logits(lab, shown(lab), 0, 5, 10**6), "the rival is"),
    (lambda lab: blank_logits(lab, shown(lab), 0, 5, 6), "predicts no token at each place"),
    (lambda lab: unfold(lab, shown(lab), Site("cross", 5), 0, 0), "no cross layer 5"),
    (lambda lab: unfold(lab, shown(lab), ENCODER, 2, 0), "no head 2"),
    (lambda lab: unfold(lab, shown(lab), ENCODER, 0, 99), "There is no query 100; this site has queries 1 to"),
    (lambda lab: lens(lab, shown(lab), 1), r"expected at most 0\. Shorten the sentence"),
    (lambda lab: cosines(lab, 9999, "target"), "There is no token 9999; the table has tokens 0 to"),
    (lambda lab: pieces_of(lab.source_tokenizer, " ", (), None), "The word is empty: type one"),
    (lambda lab: pieces_of(lab.source_tokenizer, "a\ud800", (), None), "invalid character; expected valid Unicode"),
    (lambda lab: ready_questions.peer_of(lab), "names none: add .* “peer”"),
    (lambda lab: measure_alignment(lab, []), "no pair is within the text limit"),
]


@pytest.mark.parametrize(("use", "message"), WITH_A_MODEL, ids=[message[:40] for _, message in WITH_A_MODEL])
def test_impossible_request_of_a_model_is_refused(tiny_checkpoint, use, message):
    with pytest.raises((ValueError, EditError, RequestError, DataError, CheckpointError), match=message) as caught:
        use(tiny_checkpoint)
    assert "\n" not in str(caught.value)


FAMILIES = {"encoder-only": ALONE, "decoder-only": {"family": "decoder-only", "encoder_layers": 0}}


@pytest.mark.parametrize("family", FAMILIES)
def test_models_without_cross_attention_refuse_its_uses(tokenizer, family):
    lab = tiny.checkpoint(tokenizer, **FAMILIES[family])
    with pytest.raises(ValueError, match="it has no cross-attention to align words"):
        measure_alignment(lab, [])
    align = next(experiment.run for experiment in ready_questions.EXPERIMENTS if experiment.name == "align")
    with pytest.raises(ValueError, match=r"needs cross-attention, which .* lacks. Choose a checkpoint that translates"):
        align(lab, Request(TEXT))
