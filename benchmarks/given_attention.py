"""Attention of a BERT, a T5 and a Llama beside BertViz's `model_view`: time to build what the browser gets, and its bytes.

    python -m venv PEER && PEER/bin/pip install --no-deps bertviz && PEER/bin/pip install transformers ipython
    PEER/bin/python -m benchmarks.given_attention

The models have the sizes of bert-base, t5-small and a Llama of 16 layers of 32 heads, without training. Both get one output.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.all_heads import timed
from model import heads

VOCABULARY = {"vocab_size": 99, "attn_implementation": "eager"}


def bert(transformers: Any) -> Any:
    return transformers.BertModel(transformers.BertConfig(**VOCABULARY))


def t5(transformers: Any) -> Any:
    return transformers.T5ForConditionalGeneration(transformers.T5Config(decoder_start_token_id=0, **VOCABULARY))


def llama(transformers: Any) -> Any:
    sizes = {"hidden_size": 512, "intermediate_size": 512, "num_hidden_layers": 16, "num_attention_heads": 32}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=8, **sizes, **VOCABULARY))


@torch.no_grad()
def builds_of(build: Callable[[Any], Any], tokens: int) -> list[Callable[[], str]]:
    """Returns functions that build the page of the lab, and that of BertViz, from one output of a model."""
    import transformers
    from bertviz import model_view

    model = build(transformers).eval()
    ids, names = torch.arange(tokens)[None] % 90 + 5, [f"token{n}" for n in range(tokens)]
    if model.config.is_encoder_decoder:
        output = model(input_ids=ids, decoder_input_ids=ids, output_attentions=True)
        own = {"source_tokens": names}
        pairs = ((f"{kind}_attention", getattr(output, f"{kind}_attentions")) for kind in ("encoder", "decoder", "cross"))
        peer = dict(pairs) | {"encoder_tokens": names, "decoder_tokens": names}
    else:
        output = model(ids, output_attentions=True)
        own, peer = {}, {"attention": output.attentions, "tokens": names}
    return [lambda: heads(output, names, **own).file.decode(), lambda: model_view(**peer, html_action="return").data]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=48, help="of each sequence")
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{args.tokens} tokens, medians of {args.times} turns; page of the lab and of BertViz")
    for build in (bert, t5, llama):
        (ours, bytes_ours), (theirs, bytes_theirs) = timed(builds_of(build, args.tokens), args.times)
        pair = (statistics.median(each) * 1e3 for each in (ours, theirs))
        times, sizes = (
            " and ".join(f"{each:,.0f} ms" for each in pair),
            f"{bytes_ours / 1e6:.2f} and {bytes_theirs / 1e6:.2f} MB",
        )
        print(f"{build.__name__:<6} {times}, {sizes}")


if __name__ == "__main__":
    main()
