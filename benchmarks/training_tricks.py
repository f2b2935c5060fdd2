"""Target tokens per second with all tricks of the trainer, and with each left out.

    python -m benchmarks.training_tricks [--steps N] [--threads N]

Random sentences of the corpus' usual lengths, the shipped model's size; ratios within one run are what counts. Every
variant runs in a process of its own, for memory settings cannot be taken back.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

VARIANTS = ("all", "float32", "drawn dropout", "torch's cross-entropy", "freed memory returned")


def measure(variant: str, steps: int, threads: int) -> float:
    """Median target tokens a second of a training step."""
    import torch

    from model import device
    from model.config import ModelConfig
    from model.network.attention import Dropout
    from model.network.transformer import EncoderDecoder
    from model.workshop.corpus.corpus import Batch
    from model.workshop.training import loss_and_validation

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if variant == "drawn dropout":
        Dropout.forward = lambda self, x: torch.nn.functional.dropout(x, self.p, self.training)
    if variant == "torch's cross-entropy":
        loss_and_validation.smoothed_loss = lambda logits, target, smoothing: torch.nn.functional.cross_entropy(
            logits.float(), target, label_smoothing=smoothing, reduction="sum"
        )
    if variant != "freed memory returned":
        device.keep_freed_memory()
    model = EncoderDecoder(ModelConfig(8000, 8000)).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    rows, sources, targets = 170, 11, 12  # about 2048 tokens
    ids = torch.randint(3, 8000, (rows, sources + targets))
    batch = Batch(ids[:, :sources], ids[:, sources : sources + targets])
    speeds = []
    for _ in range(steps):
        began = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=variant != "float32"):
            loss, tokens = loss_and_validation.batch_loss(model, batch, 0.1)
        (loss / tokens).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        speeds.append(tokens / (time.perf_counter() - began))
    return statistics.median(speeds[2:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.variant:
        print(measure(args.variant, args.steps, args.threads))
        return
    speeds = {}
    for variant in VARIANTS:
        command = [sys.executable, "-m", "benchmarks.training_tricks", "--variant", variant]
        command += ["--steps", str(args.steps), "--threads", str(args.threads)]
        speeds[variant] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rows = {v: {"tokens_per_second": round(s), "all_against_this": round(speeds["all"] / s, 2)} for v, s in speeds.items()}
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
