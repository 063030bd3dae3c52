"""Declarations of the decompositions of ops of other domains, with their signatures."""

from __future__ import annotations

from collections.abc import Iterator

from dialects.onnx.domains import MICROSOFT, NCHWC
from passes.decompositions.registry import Decomposition, Reason

ML = "ai.onnx.ml"
Rows = tuple[tuple[str, str, str], ...]
"""Name of an op, `module:function`, and signature."""

_ML: Rows = (
    ("ArrayFeatureExtractor", "ai_onnx_ml:array_feature_extractor", "X Y"),
    ("Imputer", "ai_onnx_ml:imputer", "X"),
    ("LinearClassifier", "ai_onnx_ml:linear_classifier", "X"),
    ("LinearRegressor", "ai_onnx_ml:linear_regressor", "X"),
    ("Normalizer", "ai_onnx_ml:normalizer", "X"),
    ("SVMClassifier", "ai_onnx_ml:svm_classifier", "X"),
    ("SVMRegressor", "ai_onnx_ml:svm_regressor", "X"),
    ("Scaler", "ai_onnx_ml:scaler", "X"),
)

_ATTENTION: Rows = (
    (
        "Attention",
        "attention:attention",
        "input:3 weights:2 bias? mask_index? past:5? attention_bias? past_sequence_length?",
    ),
    (
        "DecoderMaskedMultiHeadAttention",
        "attention:decoder_masked_multi_head_attention",
        "query:3 key? value? mask_index? attention_bias? past_key:4? past_value:4? past_sequence_length? "
        "beam_width? cache_indirection? bias?",
    ),
    (
        "EmbedLayerNormalization",
        "attention:embed_layer_normalization",
        "input_ids:2 segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
        "position_ids?",
    ),
    (
        "GroupQueryAttention",
        "grouped_attention:group_query_attention",
        "query:3 key:3? value:3? past_key:4? past_value:4? seqlens_k total_sequence_length cos_cache:2? "
        "sin_cache:2? position_ids? attention_bias:4? head_sink? k_scale? v_scale? q_norm_weight? "
        "k_norm_weight? query_seqlens?",
    ),
    (
        "MultiHeadAttention",
        "attention:multi_head_attention",
        "query key? value? bias:1? key_padding_mask? attention_bias? past_key:4? past_value:4? "
        "past_sequence_length? cache_indirection?",
    ),
    ("RotaryEmbedding", "attention:rotary_embedding", "input position_ids cos_cache:2 sin_cache:2"),
)

_EXPERTS: Rows = (
    (
        "MoE",
        "experts:moe",
        "input router_probs:2 fc1_experts_weights:3 fc1_experts_bias:2? fc2_experts_weights:3 "
        "fc2_experts_bias:2? fc3_experts_weights:3? fc3_experts_bias:2?",
    ),
    (
        "QMoE",
        "experts:q_moe",
        "input router_probs:2 fc1_experts_weights:3 fc1_scales? fc1_experts_bias:2? fc2_experts_weights:3 "
        "fc2_scales? fc2_experts_bias:2? fc3_experts_weights:3? fc3_scales? fc3_experts_bias:2? "
        "fc1_zero_points? fc2_zero_points? fc3_zero_points? router_weights? fc1_global_scale? "
        "fc2_global_scale? fc1_act_scale? fc2_act_scale? fc1_act_block_scale? fc2_act_block_scale?",
    ),
)

_PACKED_WEIGHTS: Rows = (
    ("GatherBlockQuantized", "packed_weights:gather_block_quantized", "data indices scales zero_points?"),
    ("MatMulBnb4", "packed_weights:matmul_bnb4", "A B absmax"),
    ("MatMulNBits", "packed_weights:matmul_n_bits", "A B scales zero_points? g_idx? bias?"),
)

_QUANTIZED: Rows = (
    (
        "DynamicQuantizeLSTM",
        "quantized:dynamic_quantize_lstm",
        "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point? R_scale R_zero_point?",
    ),
    ("DynamicQuantizeMatMul", "quantized:dynamic_quantize_matmul", "A B b_scale b_zero_point? bias?"),
    (
        "MatMulIntegerToFloat",
        "quantized:matmul_integer_to_float",
        "A B a_scale b_scale a_zero_point? b_zero_point? bias?",
    ),
    (
        "QAttention",
        "quantized:q_attention",
        "input weight bias? input_scale weight_scale mask_index? input_zero_point? weight_zero_point? past?",
    ),
    (
        "QEmbedLayerNormalization",
        "quantized:q_embed_layer_normalization",
        "input_ids segment_ids? word_embedding_quant position_embedding_quant segment_embedding? "
        "gamma_quant beta_quant mask? word_embedding_scale position_embedding_scale "
        "segment_embedding_scale? gamma_scale beta_scale word_embedding_zero_point? "
        "position_embedding_zero_point? segment_embedding_zero_point? gamma_zero_point? beta_zero_point?",
    ),
    (
        "QGemm",
        "quantized:q_gemm",
        "A a_scale a_zero_point? B b_scale b_zero_point? C? y_scale? y_zero_point?",
    ),
    (
        "QLinearAdd",
        "quantized:qlinear_add",
        "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?",
    ),
    (
        "QLinearAveragePool",
        "quantized:qlinear_average_pool",
        "X x_scale x_zero_point? y_scale y_zero_point?",
    ),
    ("QLinearConcat", "quantized:qlinear_concat", "Y_scale Y_zero_point? inputs*"),
    (
        "QLinearConv",
        "quantized:qlinear_conv",
        "x x_scale x_zero_point? w w_scale w_zero_point? y_scale y_zero_point? B?",
    ),
    (
        "QLinearGlobalAveragePool",
        "quantized:qlinear_global_average_pool",
        "X x_scale x_zero_point? y_scale y_zero_point?",
    ),
    ("QLinearLeakyRelu", "quantized:qlinear_leaky_relu", "X X_scale X_zero_point? Y_scale Y_zero_point?"),
    (
        "QLinearMul",
        "quantized:qlinear_mul",
        "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?",
    ),
    (
        "QLinearReduceMean",
        "quantized:qlinear_reduce_mean",
        "data data_scale data_zero_point? reduced_scale reduced_zero_point?",
    ),
    ("QLinearSigmoid", "quantized:qlinear_sigmoid", "X X_scale X_zero_point? Y_scale Y_zero_point?"),
    ("QLinearSoftmax", "quantized:qlinear_softmax", "X X_scale x_zero_point? y_scale y_zero_point?"),
    (
        "QLinearWhere",
        "quantized:qlinear_where",
        "condition X x_scale x_zero_point? Y y_scale y_zero_point? z_scale z_zero_point?",
    ),
)

_GATES: Rows = (
    ("BiasAdd", "gates:bias_add", "X bias skip"),
    ("BiasDropout", "gates:bias_dropout", "data bias residual? ratio? training_mode?"),
    ("BiasSoftmax", "gates:bias_softmax", "data bias"),
    ("BiasSplitGelu", "gates:bias_split_gelu", "X:3 bias"),
    ("BranchwiseRMSNorm", "gates:branchwise_rms_norm", "X scale?"),
    (
        "EngramGate",
        "gates:engram_gate",
        "key:4 query:4 value:3 key_norm_scale query_norm_scale conv_norm_scale?",
    ),
    ("GatedAdd", "gates:gated_add", "X Y gate gate_weight?"),
    ("GatedRMSNorm", "gates:gated_rms_norm", "X scale:1 gate"),
    ("GroupNorm", "gates:group_norm", "X gamma beta"),
    (
        "HyperConnectionPostMix",
        "gates:hyper_connection_post_mix",
        "streams block_output post_mix stream_mix?",
    ),
    ("HyperConnectionPreMix", "gates:hyper_connection_pre_mix", "streams pre_mix"),
    ("LinearAttentionGate", "gates:linear_attention_gate", "a dt_bias decay_scale b?"),
    ("MRotaryEmbedding", "gates:m_rotary_embedding", "input position_ids cos_cache:2 sin_cache:2"),
    ("ScaledSiLU", "gates:scaled_silu", "X scale?"),
    ("SkipGroupNorm", "gates:skip_group_norm", "X gamma beta skip bias?"),
)

_RENAMED: Rows = (
    ("CDist", "renamed_ops:cdist", "A B"),
    ("CausalConvWithState", "renamed_ops:causal_conv", "input weight:3 bias? past_state?"),
    ("ConvTransposeWithDynamicPads", "renamed_ops:conv_transpose_with_dynamic_pads", "X W Pads? B?"),
    ("CropAndResize", "renamed_ops:crop_and_resize", "X rois batch_indices crop_size"),
    ("ExpandDims", "renamed_ops:expand_dims", "X axis"),
    ("GatherND", "renamed_ops:gather_nd", "data indices"),
    ("GridSample", "renamed_ops:grid_sample", "X Grid"),
    ("LinearAttention", "renamed_ops:linear_attention", "query key value past_state? decay? beta?"),
    ("NhwcConv", "renamed_ops:nhwc_conv", "X W B? Z?"),
    ("NhwcFusedConv", "renamed_ops:nhwc_conv", "X W B? Z?"),
    ("NhwcMaxPool", "renamed_ops:nhwc_max_pool", "x"),
    ("Pad", "renamed_ops:pad", "data pads value?"),
    ("Range", "renamed_ops:range_", "start limit delta?"),
    ("SampleOp", "renamed_ops:identity", "X"),
    ("Trilu", "renamed_ops:trilu", "X k?"),
    ("UnfoldTensor", "renamed_ops:unfold_tensor", "input"),
    ("Unique", "renamed_ops:unique", "x"),
)

_FUSED: Rows = (
    ("BiasGelu", "microsoft:gelu", "A B"),
    ("DequantizeLinear", "microsoft:dequantize", "x x_scale x_zero_point?"),
    ("FastGelu", "microsoft:fast_gelu", "X bias?"),
    ("FusedConv", "microsoft:fused_conv", "X W B? Z?"),
    ("FusedGemm", "microsoft:fused_gemm", "A B C?"),
    ("FusedMatMul", "microsoft:fused_matmul", "A B"),
    ("FusedMatMulActivation", "microsoft:fused_matmul", "A B"),
    ("Gelu", "microsoft:gelu", "X"),
    ("GemmFastGelu", "microsoft:gemm_fast_gelu", "X W bias?"),
    ("LayerNormalization", "microsoft:layer_normalization", "X Scale B?"),
    ("QuantizeLinear", "microsoft:quantize", "x y_scale y_zero_point?"),
    ("QuickGelu", "microsoft:quick_gelu", "X"),
    ("SimplifiedLayerNormalization", "microsoft:simplified_layer_normalization", "X scale"),
    ("SkipLayerNormalization", "microsoft:skip_layer_normalization", "input skip gamma beta? bias?"),
    ("SkipSimplifiedLayerNormalization", "microsoft:skip_simplified", "input skip gamma bias?"),
    ("TransposeMatMul", "microsoft:fused_matmul", "A B"),
)

_NCHWC: Rows = (
    ("AveragePool", "nchwc:average_pool", "X"),
    ("Conv", "nchwc:conv", "X W B? Sum?"),
    ("GlobalAveragePool", "nchwc:global_average_pool", "X"),
    ("GlobalMaxPool", "nchwc:global_max_pool", "X"),
    ("MaxPool", "nchwc:max_pool", "X"),
    ("ReorderInput", "nchwc:reorder_input", "X"),
    ("ReorderOutput", "nchwc:reorder_output", "X"),
    ("Upsample", "nchwc:upsample", "X"),
)


def _declare(domain: str, *tables: Rows) -> Iterator[Decomposition]:
    for name, function, signature in (row for rows in tables for row in rows):
        op = ".".join(filter(None, (domain, name)))
        yield Decomposition(op, Reason.OTHER_DOMAIN, function, signature)


DECOMPOSITIONS: tuple[Decomposition, ...] = (
    *_declare("", tuple(row for row in _FUSED if row[0] == "SimplifiedLayerNormalization")),
    *_declare(ML, _ML),
    *_declare(MICROSOFT, _ATTENTION, _EXPERTS, _PACKED_WEIGHTS, _QUANTIZED, _GATES, _RENAMED, _FUSED),
    *_declare(NCHWC, _NCHWC),
)
