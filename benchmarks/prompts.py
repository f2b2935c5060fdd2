"""The first new token after a prompt, for a model of GPT-2 small's size: the prompt in one pass, and in single steps.

The floor is one teacher-forced pass over the same tokens in the same run. Weights are random.

python -m benchmarks.prompts [--tokens N ...] [--threads N]
"""

from __future__ import annotations

import argparse
import json
from unittest import mock

import torch

from benchmarks.ablation import seconds
from model.config import START, ModelConfig
from model.decoding import search
from model.decoding.uncached import Recorder
from model.network.context import teacher_forced_states
from model.network.transformer import build

GPT2_SMALL = {
    "decoder_layers": 12,
    "heads": 12,
    "d_model": 768,
    "d_ff": 3072,
    "source_vocab": 50_257,
    "target_vocab": 50_257,
}


def no_prefill(steps: search._Steps) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the start of decoding where each token of the prompt takes a step of its own."""
    return torch.full((steps.row_count, 1), START), torch.zeros(steps.row_count, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[34, 67, 127])
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    config = ModelConfig(
        family="decoder-only", encoder_layers=0, activation="gelu", positions="learned", max_positions=1024, **GPT2_SMALL
    )
    model = build(config).eval().requires_grad_(False)
    draw = torch.Generator().manual_seed(1)
    rows = {}
    for length in args.tokens:
        prompt = torch.randint(4, config.target_vocab, (length,), generator=draw).tolist()

        def decode(prompt: list[int] = prompt) -> None:
            search.greedy(model, None, prefix=prompt, max_total_tokens=len(prompt) + 1, recorder=Recorder())

        @torch.inference_mode()
        def floor(prompt: list[int] = prompt) -> None:
            model.project(teacher_forced_states(model, None, torch.tensor([prompt]))).log_softmax(-1)

        decode()  # the weights are prepared once
        one_pass, prefilled = seconds(floor), seconds(decode)
        with mock.patch.object(search._Steps, "prefill", no_prefill):
            single = seconds(decode)
        rows[f"{length} tokens"] = {
            "one_pass_ms": round(1000 * one_pass),
            "prefilled_of_one_pass": round(prefilled / one_pass, 2),
            "single_steps_of_one_pass": round(single / one_pass, 2),
        }
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
