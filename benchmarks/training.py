"""The trainer beside a plain `nn.Transformer` loop, in float32 and in bfloat16: target tokens a second, and dev loss.

    python -m benchmarks.training --data TRAIN --dev DEV [--steps N] [--seeds N]

The same weights to begin with, the same batches in the same order, the same dropout (on embeddings, sub-layers and
attention alike), the same Adam, schedule and label smoothing. Every variant runs in a process of its own, for memory
settings cannot be taken back. Ratios within one run are what counts; the dev losses say whether the tricks cost anything.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

VARIANTS = ("ours", "plain float32", "plain bfloat16")
DROPOUT = 0.1


def measure(variant: str, args: argparse.Namespace) -> dict[str, float]:
    """Median target tokens a second of a step, and dev loss (nats a token) after all steps."""
    import torch
    from torch.nn import functional as F

    from benchmarks.peers import PlainTransformer
    from model import checkpoint, device
    from model.config import ModelConfig, TrainConfig
    from model.network.context import shift_right
    from model.network.transformer import EncoderDecoder
    from model.workshop.corpus.corpus import Batch, Corpus, read_pairs, targets_by_source
    from model.workshop.training.loss_and_validation import Objective, learning_rate

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    tokenizer = checkpoint.load("en-fr").source_tokenizer
    corpus = Corpus.encode(read_pairs(args.data), tokenizer, tokenizer)
    held_out = [(source, targets[0]) for source, targets in targets_by_source(read_pairs(args.dev)).items()]
    dev = Corpus.encode(held_out, tokenizer, tokenizer)
    config = TrainConfig(seed=args.seed, warmup=args.warmup)
    sizes = {"source_vocab": tokenizer.size, "target_vocab": tokenizer.size}
    model = EncoderDecoder(ModelConfig(**sizes, dropout=DROPOUT, attention_dropout=DROPOUT))
    peer = PlainTransformer(model, DROPOUT)

    def plain(batch: Batch, smoothing: float = config.label_smoothing) -> torch.Tensor:
        logits = peer(batch.source, shift_right(batch.outputs)).float().flatten(0, 1)
        return F.cross_entropy(logits, batch.outputs.flatten(), ignore_index=0, label_smoothing=smoothing, reduction="sum")

    ours = variant == "ours"
    trained = Objective(model, config.label_smoothing) if ours else peer
    loss_of = trained if ours else plain
    if ours:
        device.keep_freed_memory()
    half = torch.autocast("cpu", torch.bfloat16, enabled=variant != "plain float32")
    adam = torch.optim.Adam(trained.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=ours)
    batches = corpus.batches(config.batch_tokens, args.seed, 0)
    speeds, seen = [], 0
    trained.train()
    for step, indices in enumerate(batches[: args.steps], 1):
        began = time.perf_counter()
        batch = corpus.batch(indices)
        tokens = sum(len(corpus.targets[i]) for i in indices)
        adam.param_groups[0]["lr"] = learning_rate(config, step, 2 * args.steps)
        with half:
            loss = loss_of(batch)
        (loss / tokens).backward()
        torch.nn.utils.clip_grad_norm_(trained.parameters(), config.clip)
        adam.step()
        adam.zero_grad(set_to_none=True)
        speeds.append(tokens / (time.perf_counter() - began))
        seen += tokens
    trained.eval()
    total = count = 0.0
    with torch.inference_mode():
        for indices in dev.batches(8192, 0, 0):
            batch = dev.batch(indices)
            value = Objective(model, 0.0)(batch) if ours else plain(batch, 0.0)
            total, count = total + float(value), count + sum(len(dev.targets[i]) for i in indices)
    return {"tokens_per_second": statistics.median(speeds[3:]), "dev_loss": total / count, "tokens": seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.variant:
        print(json.dumps(measure(args.variant, args)))
        return
    results: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
    for seed in range(1, args.seeds + 1):
        for variant in VARIANTS:
            command = [sys.executable, "-m", "benchmarks.training", *sys.argv[1:], "--variant", variant, "--seed", str(seed)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results[variant].append(json.loads(done.stdout))
            print(f"seed {seed}, {variant}: {done.stdout.strip()}", file=sys.stderr, flush=True)
    mean = {v: {k: statistics.mean(run[k] for run in runs) for k in runs[0]} for v, runs in results.items()}
    rows = {
        variant: {
            "tokens_per_second": round(row["tokens_per_second"]),
            "ours_times_as_fast": round(mean["ours"]["tokens_per_second"] / row["tokens_per_second"], 2),
            "dev_loss": round(row["dev_loss"], 4),
            "ours_against_it_percent": round(100 * (mean["ours"]["dev_loss"] / row["dev_loss"] - 1), 2),
        }
        for variant, row in mean.items()
    }
    print(json.dumps({"target_tokens": round(mean["ours"]["tokens"]), "variants": rows}, indent=1))


if __name__ == "__main__":
    main()
