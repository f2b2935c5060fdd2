"""Decoding one sentence with every attention map kept, beside Hugging Face's Marian in eager mode with its attentions, and
beside CTranslate2.

    pip install --target PEER --no-deps "transformers<5" "huggingface-hub<1" "tokenizers<0.23" safetensors regex tqdm \\
        filelock fsspec ctranslate2
    PYTHONPATH=PEER python -m benchmarks.decoding

The same sizes everywhere (4 + 4 layers of 8 heads, d_model 256, d_ff 1024, 8,000 tokens), as many steps, one token a step,
one thread, greedy, float32, with a key-value cache. The lab and Marian return the maps of all layers and heads at all steps.
CTranslate2, written in C++ for production, does not: of the 96 maps it returns one, of cross-attention in the last layer,
no scores before the softmax, and no probabilities but the chosen tokens'; it gets Marian's weights through its own
converter. These and the lab's own explicit path run in turns, so that other work on the machine slows all alike. It
prints medians, and ratios within the run. With --cpu it measures processor time, for a machine with other work.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

from model import load
from model.checkpoint import Checkpoint
from model.config import END
from model.decoding import search
from model.decoding.hypotheses import Hypothesis
from model.decoding.uncached import Recorder
from model.edits.intervention import BASELINE
from model.inference.passes import recorded_trace, teacher_force

SIZES = ((10, 12), (40, 48))


def chosen(lab: Checkpoint, ids: torch.Tensor, target: list[int], recorder: Recorder | None = None) -> Hypothesis:
    """Decodes greedily, step by step, and takes the next token of a target in place of the most probable one.

    A forced prefix would not do: one pass computes it.
    """
    tokens = iter(target)

    def choose(log_probs: torch.Tensor) -> torch.Tensor:
        return search.suppress_excluded(log_probs).argmax(-1).fill_(next(tokens))

    with mock.patch.object(search, "choose_greedy", choose):
        (path,) = search.greedy(lab.model, ids, max_total_tokens=len(target), recorder=recorder)
    assert list(path.ids) == target
    return path


def ours(lab: Checkpoint, source: list[int], target: list[int]) -> Callable[[], object]:
    """The fast path, which records as it goes."""
    ids = torch.tensor([source])

    def run() -> object:
        recorder = Recorder()
        return recorded_trace(lab, source, chosen(lab, ids, target, recorder).ids, recorder)

    return run


def explicit(lab: Checkpoint, source: list[int], target: list[int]) -> Callable[[], object]:
    """The explicit path with its cache, and the pass over the whole target that records."""
    from model.decoding import fast

    ids = torch.tensor([source])

    def run() -> object:
        with mock.patch.object(fast, "can_decode", lambda *_: False):
            path = chosen(lab, ids, target)
        return teacher_force(lab, source, path.ids, [BASELINE])

    return run


def newly_drawn(lab: Checkpoint) -> Any:
    """Marian with newly drawn weights: what is measured does not depend on them."""
    from transformers import MarianConfig, MarianMTModel

    c = lab.config
    config = MarianConfig(
        vocab_size=c.target_vocab,
        d_model=c.d_model,
        encoder_layers=c.encoder_layers,
        decoder_layers=c.decoder_layers,
        encoder_attention_heads=c.heads,
        decoder_attention_heads=c.heads,
        encoder_ffn_dim=c.d_ff,
        decoder_ffn_dim=c.d_ff,
        max_position_embeddings=c.max_positions,
        pad_token_id=0,
        eos_token_id=END,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
        attn_implementation="eager",
    )
    return MarianMTModel(config).eval()


def marian(lab: Checkpoint, source: list[int], steps: int) -> Callable[[], object]:
    model, ids = newly_drawn(lab), torch.tensor([source])
    how = {"num_beams": 1, "do_sample": False, "min_new_tokens": steps, "max_new_tokens": steps, "use_cache": True}

    def run() -> object:
        with torch.inference_mode():
            output = model.generate(ids, **how, output_attentions=True, return_dict_in_generate=True)
        assert len(output.decoder_attentions) == steps and len(output.cross_attentions[0]) == lab.config.decoder_layers
        return output

    return run


def ctranslate2(lab: Checkpoint, source: list[int], steps: int) -> Callable[[], object]:
    from ctranslate2 import Translator
    from ctranslate2.converters.transformers import MarianMTLoader

    spec = MarianMTLoader().get_model_spec(newly_drawn(lab))
    tokens = [f"t{n}" for n in range(len(spec.decoder.embeddings.weight))]
    tokens[END] = "</s>"
    tokens[0] = "<unk>"
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.unk_token, spec.config.eos_token, spec.config.decoder_start_token = "<unk>", "</s>", "</s>"
    spec.validate()
    spec.optimize()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        translator = Translator(folder, device="cpu", compute_type="float32", inter_threads=1, intra_threads=1)
    text = [[tokens[min(i, len(tokens) - 1)] for i in source]]

    def run() -> object:
        how = {"beam_size": 1, "min_decoding_length": steps, "max_decoding_length": steps}
        (output,) = translator.translate_batch(text, **how, return_attention=True, return_scores=True)
        assert len(output.attention[0]) == steps
        return output

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    now = time.process_time if args.cpu else time.perf_counter
    torch.set_num_threads(1)
    lab = load("en-fr", "cpu")
    generator = torch.Generator().manual_seed(1)

    def ids(count: int) -> list[int]:
        return [*torch.randint(10, lab.config.target_vocab, (count - 1,), generator=generator).tolist(), END]

    for length, steps in SIZES:
        source, target = ids(length), ids(steps)
        runs = {
            "ours": ours(lab, source, target),
            "explicit": explicit(lab, source, target),
            "Marian": marian(lab, source, steps),
            "CTranslate2": ctranslate2(lab, source, steps),
        }
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(args.times + 2):
            for name, run in runs.items():
                start = now()
                run()
                if turn > 1:  # the first two warm up
                    seconds[name].append(now() - start)
        medians = {name: statistics.median(each) for name, each in seconds.items()}
        times = ", ".join(f"{name} {1e3 * each:.1f} ms ({1e3 * min(seconds[name]):.1f})" for name, each in medians.items())
        print(f"{length} source, {steps} target tokens: {times}; median (least)")
        print(
            "  as fast as Marian: " + ", ".join(f"{name} {medians['Marian'] / each:.2f}" for name, each in medians.items())
        )


if __name__ == "__main__":
    main()
