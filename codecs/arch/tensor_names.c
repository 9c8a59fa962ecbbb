/* Made by tests/vectors/make_tensor_names.py from gguf-py's tensor_mapping.py (llama.cpp b10605). */
#include "tensor_names.h"

#include <stddef.h>

static const char *const token_embd[] = {
    "token_embd", "gpt_neox.embed_in", "transformer.wte", "transformer.word_embeddings", "word_embeddings",
    "model.embed_tokens", "embed_tokens", "tok_embeddings", "embeddings.word_embeddings",
    "embeddings.tok_embeddings", "wte", "transformer.embd.wte", "model.tok_embeddings", "model.embedding",
    "backbone.embedding", "backbone.embeddings", "transformer.in_out_embed", "embedding.word_embeddings",
    "transformer.token_embeddings", "shared", "rwkv.embeddings", "model.embeddings", "model.word_embeddings",
    "encoder", "model.transformer.wte", "model.embed", NULL,
};

static const char *const output_norm[] = {
    "output_norm", "gpt_neox.final_layer_norm", "transformer.ln_f", "model.norm", "norm", "transformer.norm_f",
    "ln_f", "model.final_layernorm", "lm_head.ln", "model.norm_f", "backbone.norm_f", "transformer.rms_norm",
    "encoder.final_layernorm", "transformer.norm", "rwkv.ln_out", "model.ln_out", "backbone.final_layer_norm",
    "model.transformer.ln_f", "final_norm", NULL,
};

static const char *const output[] = {
    "output", "embed_out", "lm_head", "word_embeddings_for_head", "lm_head.linear", "output_layer", "head",
    "head.out", "model.lm_head", "model.transformer.ff_out", "head.decoder", NULL,
};

static const char *const rope_freqs[] = {
    "rope_freqs", "rope.freqs", "rotary_pos_emb.inv_freq",
    "encoder.layers.{bid}.self_attention.rotary_emb.inv_freq", NULL,
};

static const char *const attn_norm[] = {
    "blk.{bid}.attn_norm", "gpt_neox.layers.{bid}.input_layernorm", "transformer.h.{bid}.ln_1",
    "transformer.blocks.{bid}.norm_1", "transformer.h.{bid}.input_layernorm", "h.{bid}.input_layernorm",
    "transformer.h.{bid}.ln_mlp", "model.layers.{bid}.input_layernorm", "layers.{bid}.attention_norm",
    "model.layers.{bid}.ln1", "h.{bid}.ln_1", "transformer.h.{bid}.ln", "model.layers.layers.{bid}.norm",
    "model.layers.layers.{bid}.pre_mixer_norm", "model.layers.{bid}.attention_norm", "model.layers.{bid}.norm",
    "backbone.layers.{bid}.norm", "transformer.decoder_layer.{bid}.rms_norm", "model.layers.{bid}.pre_attn_norm",
    "transformer.blocks.{bid}.norm_attn_norm.norm_1", "encoder.layers.{bid}.input_layernorm",
    "transformer.layers.{bid}.attn_norm", "rwkv.blocks.{bid}.ln1", "layers.{bid}.input_layernorm",
    "transformer_encoder.{bid}.attention_norm", "layers.{bid}.attn_norm", "model.layers.{bid}.operator_norm",
    "model.transformer.blocks.{bid}.attn_norm", "model.layers.{bid}.attention_layernorm",
    "model.layers.{bid}.pre_attention_layernorm", NULL,
};

static const char *const attn_q[] = {
    "blk.{bid}.attn_q", "model.layers.{bid}.self_attn.q_proj", "model.layers.{bid}.attention.q_proj",
    "layers.{bid}.self_attn.q_proj", "model.layers.{bid}.self_attn.q_proj_no_perm", "layers.{bid}.attention.wq",
    "encoder.layer.{bid}.attention.self.query", "transformer.layer.{bid}.attention.q_lin",
    "transformer.h.{bid}.attn.q_proj", "model.layers.layers.{bid}.self_attn.q_proj",
    "model.layers.{bid}.attention.wq", "transformer.decoder_layer.{bid}.multi_head_attention.query",
    "transformer.h.{bid}.attn.attention.q_proj", "model.transformer.blocks.{bid}.q_proj",
    "backbone.layers.{bid}.mixer.q_proj", "model.blocks.{bid}.attn.attn_query", NULL,
};

static const char *const attn_q_norm[] = {
    "blk.{bid}.attn_q_norm", "encoder.layers.{bid}.self_attention.q_layernorm",
    "model.layers.{bid}.self_attn.q_layernorm", "model.layers.{bid}.self_attn.query_layernorm",
    "model.layers.{bid}.attention.query_layernorm", "model.layers.{bid}.self_attn.q_norm",
    "layers.{bid}.self_attn.q_norm", "transformer.blocks.{bid}.attn.q_ln",
    "encoder.layer.{bid}.attention.self.layer_norm_q", "transformer.layers.{bid}.attn.q_norm",
    "model.layers.layers.{bid}.mixer.q", "model.layers.layers.{bid}.mixer.q_norm",
    "model.blocks.{bid}.attn.head_gain.head_g", NULL,
};

static const char *const attn_k[] = {
    "blk.{bid}.attn_k", "model.layers.{bid}.self_attn.k_proj", "model.layers.{bid}.attention.k_proj",
    "layers.{bid}.self_attn.k_proj", "model.layers.{bid}.self_attn.k_proj_no_perm", "layers.{bid}.attention.wk",
    "encoder.layer.{bid}.attention.self.key", "transformer.layer.{bid}.attention.k_lin",
    "transformer.h.{bid}.attn.k_proj", "transformer.h.{bid}.attn.k", "model.layers.layers.{bid}.self_attn.k_proj",
    "model.layers.{bid}.attention.wk", "transformer.decoder_layer.{bid}.multi_head_attention.key",
    "transformer.h.{bid}.attn.attention.k_proj", "model.transformer.blocks.{bid}.k_proj",
    "backbone.layers.{bid}.mixer.k_proj", "model.blocks.{bid}.attn.attn_key", NULL,
};

static const char *const attn_k_norm[] = {
    "blk.{bid}.attn_k_norm", "encoder.layers.{bid}.self_attention.k_layernorm",
    "model.layers.{bid}.self_attn.k_layernorm", "model.layers.{bid}.self_attn.key_layernorm",
    "model.layers.{bid}.attention.key_layernorm", "model.layers.{bid}.self_attn.k_norm",
    "layers.{bid}.self_attn.k_norm", "transformer.blocks.{bid}.attn.k_ln",
    "encoder.layer.{bid}.attention.self.layer_norm_k", "transformer.layers.{bid}.attn.k_norm",
    "model.layers.layers.{bid}.mixer.k", "model.layers.layers.{bid}.mixer.k_norm",
    "model.layers.{bid}.self_attn.k_rope_only_layernorm", NULL,
};

static const char *const attn_v[] = {
    "blk.{bid}.attn_v", "model.layers.{bid}.self_attn.v_proj", "model.layers.{bid}.attention.v_proj",
    "layers.{bid}.self_attn.v_proj", "layers.{bid}.attention.wv", "encoder.layer.{bid}.attention.self.value",
    "transformer.layer.{bid}.attention.v_lin", "transformer.h.{bid}.attn.v_proj", "transformer.h.{bid}.attn.v",
    "model.layers.layers.{bid}.self_attn.v_proj", "model.layers.{bid}.attention.wv",
    "transformer.decoder_layer.{bid}.multi_head_attention.value", "transformer.h.{bid}.attn.attention.v_proj",
    "model.transformer.blocks.{bid}.v_proj", "backbone.layers.{bid}.mixer.v_proj",
    "model.blocks.{bid}.attn.attn_value", NULL,
};

static const char *const attn_out[] = {
    "blk.{bid}.attn_output", "gpt_neox.layers.{bid}.attention.dense", "transformer.h.{bid}.attn.c_proj",
    "transformer.blocks.{bid}.attn.out_proj", "transformer.h.{bid}.self_attention.dense",
    "h.{bid}.self_attention.dense", "model.layers.{bid}.self_attn.o_proj", "model.layers.{bid}.attention.o_proj",
    "model.layers.{bid}.attention.dense", "layers.{bid}.self_attn.o_proj",
    "model.layers.{bid}.self_attn.out_proj", "model.layers.{bid}.self_attn.linear_attn",
    "layers.{bid}.attention.wo", "encoder.layer.{bid}.attention.output.dense", "layers.{bid}.attn.Wo",
    "transformer.layer.{bid}.attention.out_lin", "transformer.h.{bid}.attn.out_proj",
    "model.layers.{bid}.self_attn.dense", "h.{bid}.attn.c_proj", "transformer.h.{bid}.mixer.out_proj",
    "model.layers.layers.{bid}.self_attn.o_proj", "model.layers.layers.{bid}.mixer.o_proj",
    "model.layers.{bid}.attention.wo", "encoder.layers.{bid}.attn.out_proj",
    "encoder.layers.{bid}.mixer.out_proj", "transformer.decoder_layer.{bid}.multi_head_attention.linear",
    "transformer.blocks.{bid}.norm_attn_norm.attn.out_proj", "encoder.layers.{bid}.self_attention.dense",
    "transformer.layers.{bid}.attn.out_proj", "transformer.h.{bid}.attn.attention.out_proj",
    "transformer_encoder.{bid}.wo", "model.transformer.blocks.{bid}.attn_out",
    "backbone.layers.{bid}.mixer.o_proj", "model.layers.{bid}.self_attn.language_expert_dense",
    "model.blocks.{bid}.attn.attn_resid", NULL,
};

static const char *const attn_rot_embd[] = {
    "blk.{bid}.attn_rot_embd", "model.layers.{bid}.self_attn.rotary_emb.inv_freq",
    "layers.{bid}.attention.inner_attention.rope.freqs",
    "model.layers.layers.{bid}.self_attn.rotary_emb.inv_freq", "transformer.h.{bid}.attn.rotary_emb.inv_freq", NULL,
};

static const char *const ffn_gate_inp[] = {
    "blk.{bid}.ffn_gate_inp", "layers.{bid}.feed_forward.gate", "model.layers.{bid}.block_sparse_moe.gate",
    "model.layers.{bid}.mlp.gate", "transformer.decoder_layer.{bid}.router",
    "transformer.blocks.{bid}.ffn.router.layer", "model.layers.{bid}.block_sparse_moe.router.layer",
    "model.layers.{bid}.block_sparse_moe.router", "model.layers.{bid}.feed_forward.router",
    "encoder.layers.{bid}.mlp.router.layer", "model.layers.{bid}.mlp.router", "model.layers.{bid}.mlp.gate.wg",
    "model.layers.{bid}.block_sparse_moe.primary_router", "model.layers.{bid}.feed_forward.gate",
    "model.layers.{bid}.mlp.router.gate", "layers.{bid}.gate", "backbone.layers.{bid}.mixer.gate",
    "model.layers.{bid}.moe.gate", "model.layers.{bid}.router.proj", NULL,
};

static const char *const ffn_norm[] = {
    "blk.{bid}.ffn_norm", "gpt_neox.layers.{bid}.post_attention_layernorm", "transformer.h.{bid}.ln_2",
    "h.{bid}.post_attention_layernorm", "transformer.blocks.{bid}.norm_2",
    "model.layers.{bid}.post_attention_layernorm", "layers.{bid}.ffn_norm", "model.layers.{bid}.ln2",
    "h.{bid}.ln_2", "model.layers.{bid}.ffn_norm", "transformer.decoder_layer.{bid}.rms_norm_2",
    "model.layers.{bid}.pre_moe_norm", "encoder.layers.{bid}.post_attention_layernorm",
    "transformer.layers.{bid}.ffn_norm", "model.layers.{bid}.pre_ff_layernorm",
    "model.layers.{bid}.pre_moe_layernorm", "transformer_encoder.{bid}.ffn_norm",
    "model.layers.layers.{bid}.pre_mlp_norm", "model.transformer.blocks.{bid}.ff_norm",
    "layers.{bid}.post_attention_layernorm", "model.layers.{bid}.feedforward_layernorm",
    "model.layers.{bid}.pre_mlp_layernorm", "layers.{bid}.mlp_norm", NULL,
};

static const char *const ffn_gate[] = {
    "blk.{bid}.ffn_gate", "model.layers.{bid}.mlp.gate_proj", "layers.{bid}.mlp.gate_proj",
    "layers.{bid}.feed_forward.w1", "transformer.h.{bid}.mlp.w2", "transformer.h.{bid}.mlp.c_fc2",
    "model.layers.layers.{bid}.mlp.gate_proj", "model.layers.{bid}.feed_forward.w1",
    "encoder.layers.{bid}.mlp.fc12", "encoder.layer.{bid}.mlp.gated_layers_w", "transformer.h.{bid}.mlp.linear_1",
    "model.layers.{bid}.residual_mlp.w1", "transformer.h.{bid}.mlp.c_fc_0",
    "model.layers.{bid}.feed_forward.gate_proj", "model.transformer.blocks.{bid}.ff_proj",
    "model.layers.{bid}.mlp.language_mlp.gate_proj", "model.blocks.{bid}.mlp.mlp_gate", NULL,
};

static const char *const ffn_down[] = {
    "blk.{bid}.ffn_down", "gpt_neox.layers.{bid}.mlp.dense_4h_to_h", "transformer.h.{bid}.mlp.c_proj",
    "transformer.blocks.{bid}.ffn.down_proj", "transformer.h.{bid}.mlp.dense_4h_to_h",
    "h.{bid}.mlp.dense_4h_to_h", "model.layers.{bid}.mlp.down_proj", "layers.{bid}.mlp.down_proj",
    "layers.{bid}.feed_forward.w2", "encoder.layer.{bid}.output.dense", "layers.{bid}.mlp.Wo",
    "transformer.layer.{bid}.ffn.lin2", "transformer.h.{bid}.mlp.fc_out", "model.layers.{bid}.mlp.dense_4h_to_h",
    "h.{bid}.mlp.c_proj", "transformer.h.{bid}.mlp.fc2", "model.layers.{bid}.mlp.fc2",
    "model.layers.layers.{bid}.mlp.down_proj", "model.layers.{bid}.feed_forward.w2",
    "encoder.layers.{bid}.mlp.fc2", "model.layers.{bid}.mlp.c_proj", "encoder.layer.{bid}.mlp.wo",
    "transformer.layers.{bid}.ffn.proj_2", "model.layers.{bid}.residual_mlp.w2",
    "encoder.layer.{bid}.mlp.down_layer", "encoder.layers.{bid}.mlp.dense_4h_to_h",
    "model.layers.h.{bid}.mlp.c_proj", "model.layers.{bid}.feed_forward.down_proj",
    "transformer_encoder.{bid}.ffn.w3", "model.layers.{bid}.block_sparse_moe.down",
    "model.transformer.blocks.{bid}.ff_out", "backbone.layers.{bid}.mixer.down_proj",
    "model.layers.{bid}.mlp.language_mlp.down_proj", "model.blocks.{bid}.mlp.mlp_resid", NULL,
};

static const char *const ffn_up[] = {
    "blk.{bid}.ffn_up", "gpt_neox.layers.{bid}.mlp.dense_h_to_4h", "transformer.h.{bid}.mlp.c_fc",
    "transformer.blocks.{bid}.ffn.up_proj", "transformer.h.{bid}.mlp.dense_h_to_4h", "h.{bid}.mlp.dense_h_to_4h",
    "model.layers.{bid}.mlp.up_proj", "layers.{bid}.mlp.up_proj", "layers.{bid}.feed_forward.w3",
    "encoder.layer.{bid}.intermediate.dense", "layers.{bid}.mlp.Wi", "transformer.layer.{bid}.ffn.lin1",
    "transformer.h.{bid}.mlp.fc_in", "transformer.h.{bid}.mlp.linear_3", "model.layers.{bid}.mlp.dense_h_to_4h",
    "transformer.h.{bid}.mlp.w1", "h.{bid}.mlp.c_fc", "transformer.h.{bid}.mlp.fc1", "model.layers.{bid}.mlp.fc1",
    "model.layers.{bid}.mlp.gate_up_proj", "model.layers.layers.{bid}.mlp.up_proj",
    "model.layers.layers.{bid}.mlp.gate_up_proj", "model.layers.{bid}.feed_forward.w3",
    "encoder.layers.{bid}.mlp.fc11", "encoder.layers.{bid}.mlp.fc1", "model.layers.{bid}.mlp.c_fc",
    "encoder.layer.{bid}.mlp.gated_layers_v", "encoder.layer.{bid}.mlp.gated_layers",
    "encoder.layer.{bid}.mlp.up_gated_layer", "model.layers.{bid}.residual_mlp.w3",
    "encoder.layers.{bid}.mlp.dense_h_to_4h", "transformer.h.{bid}.mlp.c_fc_1",
    "model.layers.{bid}.feed_forward.up_proj", "transformer_encoder.{bid}.ffn.w12",
    "model.layers.{bid}.block_sparse_moe.up", "model.transformer.blocks.{bid}.up_proj",
    "backbone.layers.{bid}.mixer.up_proj", "model.layers.{bid}.mlp.language_mlp.up_proj",
    "model.blocks.{bid}.mlp.mlp_linear", NULL,
};

static const char *const ffn_gate_exp[] = {
    "blk.{bid}.ffn_gate_exps", "layers.{bid}.feed_forward.experts.w1",
    "transformer.decoder_layer.{bid}.moe.linear", "transformer.blocks.{bid}.ffn.experts.mlp.w1",
    "model.layers.{bid}.mlp.experts.gate_proj", "model.layers.{bid}.block_sparse_moe.experts.w1",
    "model.layers.{bid}.feed_forward.experts.gate_proj", "model.layers.{bid}.block_sparse_moe.experts.gate",
    "model.layers.{bid}.moe.gate_proj", NULL,
};

static const char *const ffn_down_exp[] = {
    "blk.{bid}.ffn_down_exps", "layers.{bid}.feed_forward.experts.w2",
    "transformer.decoder_layer.{bid}.moe.linear_1", "transformer.blocks.{bid}.ffn.experts.mlp.w2",
    "model.layers.{bid}.mlp.experts.down_proj", "model.layers.{bid}.block_sparse_moe.output_linear",
    "model.layers.{bid}.block_sparse_moe.experts.w2", "model.layers.{bid}.feed_forward.experts.down_proj",
    "encoder.layers.{bid}.mlp.experts.mlp.w2", "model.layers.{bid}.block_sparse_moe.experts.down",
    "model.layers.{bid}.moe.down_proj", "model.layers.{bid}.experts.down_proj", NULL,
};

static const char *const ffn_up_exp[] = {
    "blk.{bid}.ffn_up_exps", "layers.{bid}.feed_forward.experts.w3",
    "transformer.decoder_layer.{bid}.moe.linear_v", "transformer.blocks.{bid}.ffn.experts.mlp.v1",
    "model.layers.{bid}.mlp.experts.up_proj", "model.layers.{bid}.block_sparse_moe.experts.w3",
    "model.layers.{bid}.feed_forward.experts.up_proj", "encoder.layers.{bid}.mlp.experts.mlp.w1",
    "model.layers.{bid}.block_sparse_moe.experts.up", "model.layers.{bid}.moe.up_proj", NULL,
};

const struct wfs_tensor_names wfs_tensor_names[WFS_KIND_COUNT] = {
    [WFS_KIND_TOKEN_EMBD] = { "token_embd", token_embd },
    [WFS_KIND_OUTPUT_NORM] = { "output_norm", output_norm },
    [WFS_KIND_OUTPUT] = { "output", output },
    [WFS_KIND_ROPE_FREQS] = { "rope_freqs", rope_freqs },
    [WFS_KIND_ATTN_NORM] = { "blk.{bid}.attn_norm", attn_norm },
    [WFS_KIND_ATTN_Q] = { "blk.{bid}.attn_q", attn_q },
    [WFS_KIND_ATTN_Q_NORM] = { "blk.{bid}.attn_q_norm", attn_q_norm },
    [WFS_KIND_ATTN_K] = { "blk.{bid}.attn_k", attn_k },
    [WFS_KIND_ATTN_K_NORM] = { "blk.{bid}.attn_k_norm", attn_k_norm },
    [WFS_KIND_ATTN_V] = { "blk.{bid}.attn_v", attn_v },
    [WFS_KIND_ATTN_OUT] = { "blk.{bid}.attn_output", attn_out },
    [WFS_KIND_ATTN_ROT_EMBD] = { "blk.{bid}.attn_rot_embd", attn_rot_embd },
    [WFS_KIND_FFN_GATE_INP] = { "blk.{bid}.ffn_gate_inp", ffn_gate_inp },
    [WFS_KIND_FFN_NORM] = { "blk.{bid}.ffn_norm", ffn_norm },
    [WFS_KIND_FFN_GATE] = { "blk.{bid}.ffn_gate", ffn_gate },
    [WFS_KIND_FFN_DOWN] = { "blk.{bid}.ffn_down", ffn_down },
    [WFS_KIND_FFN_UP] = { "blk.{bid}.ffn_up", ffn_up },
    [WFS_KIND_FFN_GATE_EXP] = { "blk.{bid}.ffn_gate_exps", ffn_gate_exp },
    [WFS_KIND_FFN_DOWN_EXP] = { "blk.{bid}.ffn_down_exps", ffn_down_exp },
    [WFS_KIND_FFN_UP_EXP] = { "blk.{bid}.ffn_up_exps", ffn_up_exp },
};
