"""Outputs of real architectures of transformers, untrained and tiny, are pages without further arguments."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model import GivenAttention
from viz.given_attention import heads

transformers = pytest.importorskip("transformers")
SIZES = {"vocab_size": 99, "attn_implementation": "eager"}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32, **SIZES}
TOKENS, TARGET = list("abcdefg"), list("vwxyz")


def ids(tokens: list[str]) -> torch.Tensor:
    return torch.arange(len(tokens))[None] + 5


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: transformers.BertModel(transformers.BertConfig(**SMALL)), "encoder"),
        (lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, **SMALL)), "decoder"),
        (lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, **SIZES)), "decoder"),
    ],
)
@pytest.mark.parametrize("kind_of_float", [torch.float32, torch.bfloat16])
def test_one_stack_is_shown(build, kind, kind_of_float):
    output = build().eval().to(kind_of_float)(ids(TOKENS), output_attentions=True)
    attention = GivenAttention.of(output, TOKENS)
    assert attention.kinds == (kind,) and attention.notes == ()
    np.testing.assert_array_equal(attention.head(kind, 1, 2), output.attentions[1][0, 2].detach().float().numpy())
    assert b"attention" in heads(output, TOKENS).file


def test_encoder_decoder_is_shown():
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes, **SIZES)).eval()
    output = model(input_ids=ids(TOKENS), decoder_input_ids=ids(TARGET), output_attentions=True)
    attention = GivenAttention.of(output, TARGET, source_tokens=TOKENS)
    assert attention.kinds == ("encoder", "decoder", "cross") and attention.shape("cross") == (2, 4, 5, 7)
    assert b"attention" in heads(output, TARGET, source_tokens=TOKENS).file


def test_whisper_is_shown_with_numbered_sounds():
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    sizes |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_source_positions": 40, "num_mel_bins": 8}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**sizes, **special, **SIZES)).eval()
    output = model(input_features=torch.zeros(1, 8, 80), decoder_input_ids=ids(TARGET), output_attentions=True)
    attention = GivenAttention.of(output, TARGET, source_tokens=40)
    assert attention.shape("encoder") == (2, 4, 40, 40) and attention.shape("cross") == (2, 4, 5, 40)
    assert attention.keys("cross")[-1] == "40" and b"attention" in heads(output, TARGET, source_tokens=40).file


def test_output_without_weights_names_the_options():
    model = transformers.BertModel(transformers.BertConfig(**SMALL)).eval()
    with pytest.raises(ValueError, match='attn_implementation="eager" and call it with output_attentions=True'):
        heads(model(ids(TOKENS)), TOKENS)
