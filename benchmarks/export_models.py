"""Export the model collection of `compiled_speed.py`: small networks with random weights.

    python benchmarks/export_models.py FOLDER [--only PREFIX]

The exporters are optional: torchvision and transformers (through both exporters of torch), scikit-learn with
skl2onnx, Keras with tf2onnx. Models of a package that is not installed are skipped. The environment need not
have gradc.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Write = Callable[[Path], None]
"""Writes one model to a file."""

VISION: dict[str, int] = {
    "convnext_tiny": 64,
    "densenet121": 64,
    "efficientnet_b0": 96,
    "googlenet": 96,
    "mnasnet0_5": 96,
    "mobilenet_v2": 96,
    "mobilenet_v3_small": 96,
    "regnet_y_400mf": 96,
    "resnet18": 96,
    "resnet50": 96,
    "shufflenet_v2_x0_5": 96,
    "squeezenet1_1": 96,
    "swin_t": 64,
}
"""torchvision models, by the size of their images."""

SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
DECODER = SMALL | {"vocab_size": 500, "num_key_value_heads": 2, "pad_token_id": 0, "use_cache": False}
TEXT = SMALL | {"vocab_size": 500}
IMAGE = SMALL | {"image_size": 64, "patch_size": 8}

TRANSFORMERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "albert": ("Albert", "text", TEXT | {"embedding_size": 64}),
    "bert": ("Bert", "text", TEXT),
    "deit": ("DeiT", "image", IMAGE),
    "distilbert": (
        "DistilBert",
        "text",
        {"dim": 128, "n_layers": 2, "n_heads": 4, "hidden_dim": 256, "vocab_size": 500},
    ),
    "electra": ("Electra", "text", TEXT | {"embedding_size": 128}),
    "gpt2": (
        "GPT2",
        "text",
        {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 500, "use_cache": False},
    ),
    "llama": ("Llama", "text", DECODER),
    "opt": (
        "OPT",
        "text",
        {
            "hidden_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 256,
            "vocab_size": 500,
            "word_embed_proj_dim": 128,
            "use_cache": False,
        },
    ),
    "phi": ("Phi", "text", SMALL | {"vocab_size": 500, "use_cache": False}),
    "qwen2": ("Qwen2", "text", DECODER),
    "roberta": ("Roberta", "text", TEXT),
    "segformer": ("Segformer", "image", {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 64, 64]}),
    "t5": (
        "T5Encoder",
        "text",
        {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 2, "num_heads": 4, "vocab_size": 500},
    ),
    "t5-gated": (
        "T5Encoder",
        "text",
        {
            "d_model": 128,
            "d_kv": 32,
            "d_ff": 256,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 500,
            "feed_forward_proj": "gated-gelu",
        },
    ),
    "vit": ("ViT", "image", IMAGE),
}
"""Name -> class prefix, kind of input and configuration of a transformers model."""

EXPORTERS = {
    "script": {"dynamo": False, "opset_version": 17},
    "dynamo": {"dynamo": True, "opset_version": 18},
}
"""torch's two exporters."""


def _torch_model(build: Callable[[], tuple[Any, tuple[Any, ...]]], options: dict[str, Any]) -> Write:
    def write(path: Path) -> None:
        import torch

        torch.manual_seed(0)
        model, inputs = build()
        _draw_statistics(model)
        extra = {"external_data": False, "verbose": False} if options["dynamo"] else {}
        torch.onnx.export(model.eval(), inputs, str(path), **options, **extra)

    return write


def _draw_statistics(model: Any) -> None:
    """Give normalizations factors and offsets that no simplification can drop."""
    import torch

    for name, value in (*model.named_parameters(), *model.named_buffers()):
        if value.dim() == 1 and value.is_floating_point():
            is_positive = "var" in name or "weight" in name
            value.data = torch.rand_like(value) + 0.5 if is_positive else 0.1 * torch.randn_like(value)


def _vision(name: str, size: int) -> tuple[Any, tuple[Any, ...]]:
    import torch
    import torchvision

    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    return getattr(torchvision.models, name)(num_classes=50, **options), (torch.randn(1, 3, size, size),)


def _transformer(prefix: str, kind: str, settings: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    import torch
    import transformers

    configuration = getattr(transformers, f"{prefix.removesuffix('Encoder')}Config")(
        **settings, attn_implementation="eager"
    )
    model = getattr(transformers, f"{prefix}Model")(configuration)
    if kind == "image":
        size = getattr(configuration, "image_size", 64)
        return _FirstResult(model), (torch.randn(1, 3, size, size),)
    tokens = torch.randint(3, 500, (1, 32))
    return _FirstResult(model), (tokens, torch.ones_like(tokens))


def _FirstResult(model: Any) -> Any:
    """Return a module with the first result of another, called with a mask if there are two inputs."""
    import torch

    class FirstResult(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any, mask: Any = None) -> Any:
            options = {} if mask is None else {"attention_mask": mask}
            return self.model(x, **options, return_dict=False)[0]

    return FirstResult()


def _torch_models() -> Iterator[tuple[str, Write]]:
    builders: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {}
    if find_spec("torchvision"):
        builders |= {n: lambda n=n, size=size: _vision(n, size) for n, size in VISION.items()}
    if find_spec("transformers"):
        builders |= {n: lambda given=given: _transformer(*given) for n, given in TRANSFORMERS.items()}
    for name, build in builders.items():
        for exporter, options in EXPORTERS.items():
            yield f"{name}-{exporter}", _torch_model(build, options)


def _estimators() -> Iterator[tuple[str, Write]]:
    if not (find_spec("sklearn") and find_spec("skl2onnx")):
        return
    import numpy as np
    from sklearn import decomposition, ensemble, gaussian_process, linear_model, neural_network, pipeline, svm
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    random = np.random.default_rng(0)
    data = random.standard_normal((200, 10)).astype(np.float32)
    classes, numbers = (data[:, 0] > 0).astype(int), data @ random.standard_normal(10)
    fitted = {
        "forest": (ensemble.RandomForestClassifier(10, random_state=0), classes),
        "gaussian-process": (gaussian_process.GaussianProcessRegressor(), numbers),
        "logistic": (pipeline.make_pipeline(StandardScaler(), linear_model.LogisticRegression()), classes),
        "mlp": (neural_network.MLPClassifier((64, 64), max_iter=20, random_state=0), classes),
        "mlp-regressor": (
            neural_network.MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=20, random_state=0),
            numbers,
        ),
        "pca-ridge": (pipeline.make_pipeline(decomposition.PCA(4), linear_model.Ridge()), numbers),
        "polynomial": (pipeline.make_pipeline(PolynomialFeatures(2), linear_model.Ridge()), numbers),
        "svm": (svm.SVC(), classes),
    }

    def writer(estimator: Any, target: Any) -> Write:
        def write(path: Path) -> None:
            import skl2onnx

            estimator.fit(data, target)
            options = {id(estimator): {"zipmap": False}} if hasattr(estimator, "classes_") else None
            model = skl2onnx.to_onnx(
                estimator, data[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3}
            )
            path.write_bytes(model.SerializeToString())

        return write

    for name, (estimator, target) in fitted.items():
        yield f"sklearn-{name}", writer(estimator, target)


KERAS = {
    "DenseNet121": 64,
    "EfficientNetB0": 96,
    "MobileNet": 96,
    "MobileNetV2": 96,
    "MobileNetV3Small": 96,
    "NASNetMobile": 224,
    "ResNet50V2": 96,
    "Xception": 96,
}
"""Keras applications, by the size of their images."""


def _keras_network(name: str) -> tuple[Any, tuple[int, ...]]:
    """Return a network and the shape of its input without the batch."""
    import tensorflow as tf

    layers = tf.keras.layers
    if name in KERAS:
        shape = (KERAS[name], KERAS[name], 3)
        return getattr(tf.keras.applications, name)(weights=None, input_shape=shape, classes=50), shape
    if name == "lstm":
        x = tf.keras.Input((32, 24))
        y = layers.Bidirectional(layers.LSTM(32, return_sequences=True))(x)
        return tf.keras.Model(x, layers.Dense(10)(layers.LSTM(32)(y))), (32, 24)
    if name == "gru":
        x = tf.keras.Input((32, 24))
        return tf.keras.Model(x, layers.Dense(10)(layers.GRU(48)(x))), (32, 24)
    if name == "cnn":
        x = y = tf.keras.Input((48, 48, 3))
        for channels in (16, 32, 64):
            y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(channels, 3, padding="same")(y)))
            y = layers.MaxPooling2D()(y)
        y = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(y))
        return tf.keras.Model(x, y), (48, 48, 3)
    x = y = tf.keras.Input((32, 64))
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 16)(y, y)
        y = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([y, attended]))
        hidden = layers.Dense(64)(layers.Dense(128, activation="gelu")(y))
        y = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([y, hidden]))
    return tf.keras.Model(x, y), (32, 64)


def _keras_models() -> Iterator[tuple[str, Write]]:
    if not (find_spec("tensorflow") and find_spec("tf2onnx")):
        return

    def writer(name: str) -> Write:
        def write(path: Path) -> None:
            import tensorflow as tf
            import tf2onnx

            tf.keras.utils.set_random_seed(0)
            model, shape = _keras_network(name)
            for layer in model.layers:
                if isinstance(layer, tf.keras.layers.BatchNormalization):
                    layer.set_weights(
                        [abs(w) + tf.random.uniform(w.shape).numpy() / 2 for w in layer.get_weights()]
                    )
            function = tf.function(lambda x: model(x, training=False))
            spec = [tf.TensorSpec((1, *shape), tf.float32, name="x")]
            tf2onnx.convert.from_function(function, spec, opset=17, output_path=str(path))

        return write

    for name in ("cnn", "gru", "lstm", "transformer", *KERAS):
        yield f"keras-{name.lower()}", writer(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="PREFIX", help="models whose name begins so")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for models in (_estimators, _torch_models, _keras_models):
        for name, write in models():
            path = options.folder / f"{name}.onnx"
            if not name.startswith(options.only) or path.exists():
                continue
            try:
                write(path)
                print(f"{name}: {path.stat().st_size:,} bytes", flush=True)
            except Exception as error:  # an exporter that cannot export a model
                path.unlink(missing_ok=True)
                print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
