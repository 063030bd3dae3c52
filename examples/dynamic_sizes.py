"""One model for every size: the gradients of a strided convolution and of the resize before it.

The batch, the spatial sizes and the shape of the result are dynamic; the weights are part of the model.
"""

import numpy as np

import gradc

CHANNELS_IN, CHANNELS_OUT = 8, 16


def decoder_step() -> gradc.Graph:
    """Backward of: upsample to any size, then a 3x3 convolution of stride 2."""
    g = gradc.Graph()
    image = g.input("image", "f32", ["N", CHANNELS_IN, "H", "W"])
    diff_dst = g.input("diff_dst", "f32", ["N", CHANNELS_OUT, None, None])
    weights = g.input("weights", "f32", [CHANNELS_OUT, CHANNELS_IN, 3, 3])
    upsampled_shape = g.input("upsampled_shape", "s32", [4])
    sizes = g.input("sizes", "s32", [2])
    diff_upsampled = g.convolution_backward_data(
        diff_dst,
        weights,
        upsampled_shape,
        strides=[2, 2],
        pads_begin=[1, 1],
        pads_end=[1, 1],
        dilations=[1, 1],
        data_format="NCX",
        weights_format="OIX",
        name="conv",
    )
    diff_image = g.interpolate_backward(
        image, diff_upsampled, sizes, mode="bilinear", data_format="NCX", name="upsample"
    )
    g.output(diff_image, "diff_image")
    return g


def main() -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((CHANNELS_OUT, CHANNELS_IN, 3, 3)).astype(np.float32)
    compiled = gradc.compile(decoder_step(), constants={"weights": weights})
    for remark in compiled.remarks:
        print(remark)
    for batch, image, upsampled in ((1, (7, 9), (14, 18)), (3, (10, 6), (25, 13))):
        convolved = [(size + 1) // 2 for size in upsampled]
        inputs = {
            "image": np.zeros((batch, CHANNELS_IN, *image), np.float32),
            "diff_dst": rng.standard_normal((batch, CHANNELS_OUT, *convolved)).astype(np.float32),
            "upsampled_shape": np.array([batch, CHANNELS_IN, *upsampled], np.int32),
            "sizes": np.array(upsampled, np.int32),
        }
        diff_image = compiled.run(inputs)["diff_image"]
        # each row of a bilinear resize sums to 1, so its gradient keeps the sum
        conv_alone = direct_sum(inputs["diff_dst"], weights, upsampled)
        print(f"batch {batch}, image {image}: diff_image {diff_image.shape}, sum {diff_image.sum():.3f}")
        assert diff_image.shape == (batch, CHANNELS_IN, *image)
        assert np.isclose(diff_image.sum(), conv_alone, rtol=1e-3, atol=1e-2)


def direct_sum(diff_dst: np.ndarray, weights: np.ndarray, size: tuple[int, int]) -> float:
    """Return the sum of the convolution's gradient: each output sends a tap to each of its inputs."""
    total = 0.0
    for ky in range(3):
        for kx in range(3):
            rows = [y for y in range(diff_dst.shape[2]) if 0 <= 2 * y - 1 + ky < size[0]]
            columns = [x for x in range(diff_dst.shape[3]) if 0 <= 2 * x - 1 + kx < size[1]]
            sent = diff_dst[:, :, rows][:, :, :, columns].astype(np.float64).sum(axis=(0, 2, 3))
            total += float(sent @ weights[:, :, ky, kx].astype(np.float64).sum(axis=1))
    return total


if __name__ == "__main__":
    main()
