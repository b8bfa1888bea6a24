#!/usr/bin/env python3
"""A second opinion on halka's training step, from PyTorch.

    halka model create ... is called for the initial weights (their names are PyTorch's); then, for each network:
    one forward and backward pass on a batch that both sides compute from a formula, in float64, and one step of
    plain SGD and of AdamW. What is recorded is in NAME.txt beside this file:

        loss L
        gradient PARAMETER NORM COUNT STRIDE      (then every STRIDE-th entry, at most 256)
        state NAME NORM COUNT STRIDE              (running statistics after the step, with ONNX's biased variance)
        sgd|adamw PARAMETER NORM_AFTER NORM_OF_CHANGE

    Usage: make.py HALKA_COMMAND [NAME...]        needs torch, onnx and numpy (pip, in a virtual environment)
    Prints how far PyTorch's own float32 is from its float64, by the measure the test uses.
"""
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.numpy_helper
import torch
import torch.nn.functional as functional
from torch import nn

SAMPLES = 256
MARGIN = 2e-6  # the smallest input of a ReLU: nearer to zero, rounding alone could switch a gradient on or off
SGD = {"lr": 0.1}
ADAMW = {"lr": 0.001, "weight_decay": 0.01}


nearest = [1.0]


def relu(x):
    nearest[0] = min(nearest[0], x.detach().abs().min().item())
    return functional.relu(x)


class Cnn(nn.Module):
    """The network of the quickstart, without dropout."""

    def __init__(self):
        super().__init__()
        channels = 1
        for number, width in enumerate((16, 32, 64), 1):
            stage = nn.Module()
            for i in (1, 2):
                stage.add_module(f"conv{i}", nn.Conv2d(channels, width, 3, padding=1, bias=False))
                stage.add_module(f"bn{i}", nn.BatchNorm2d(width))
                channels = width
            self.add_module(f"stage{number}", stage)
        self.fc1 = nn.Linear(64 * 3 * 3, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        for stage in (self.stage1, self.stage2, self.stage3):
            x = relu(stage.bn1(stage.conv1(x)))
            x = relu(stage.bn2(stage.conv2(x)))
            x = functional.max_pool2d(x, 2)
        return self.fc2(relu(self.fc1(x.flatten(1))))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    """He et al. 2015, section 4.2: the shortcut subsamples and pads with zero channels (option A)."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.stride, self.more = stride, width - channels

    def forward(self, x):
        y = relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        x = x[:, :, ::self.stride, ::self.stride]
        x = functional.pad(x, (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return relu(x + y)


class Resnet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        channels = 16
        for number, width in enumerate((16, 32, 64), 1):
            blocks = []
            for i in range(3):
                blocks.append(Block(channels, width, 2 if i == 0 and number > 1 else 1))
                channels = width
            self.add_module(f"layer{number}", nn.Sequential(*blocks))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


# name -> (network, seed of the weights, other options of `halka model create`, shape of the batch)
NETWORKS = {
    "mlp": (Mlp, 7, [], (32, 1, 28, 28)),
    "cnn": (Cnn, 19, ["--dropout", "0"], (16, 1, 28, 28)),
    "resnet20": (Resnet20, 8, [], (4, 3, 32, 32)),
}


def weights_of(halka, name, seed, options):
    """The initial weights, by name, from an exported model."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        subprocess.run([halka, "model", "create", name, "--seed", str(seed), *options, "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
        model = onnx.load(path)
    return {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in model.graph.initializer}


def batch_of(shape):
    """The hash of bench/train_bench.c and golden_test.c: uniform in [-1, 1), exact in float32."""
    index = numpy.arange(numpy.prod(shape), dtype=numpy.uint64)
    bits = (index * 2654435761 % 2**32) >> 8
    x = bits.astype(numpy.float64) * 2.0**-23 - 1
    y = (numpy.arange(shape[0]) * 7 + 3) % 10
    return torch.from_numpy(x.reshape(shape)), torch.from_numpy(y)


def load(network, weights, dtype):
    own = {key: value for key, value in network.state_dict().items() if not key.endswith("num_batches_tracked")}
    missing = sorted(set(own) - set(weights))
    if missing:
        raise SystemExit(f"not in halka's model: {missing}")
    network.load_state_dict({key: weights[key].reshape(own[key].shape) for key in own}, strict=False)
    return network.to(dtype)


def watch_statistics(network, states):
    """Running statistics as ONNX's BatchNormalization defines them: new = 0.9 old + 0.1 batch, population variance."""
    for name, module in network.named_modules():
        if isinstance(module, nn.BatchNorm2d):
            def hook(module, inputs, name=name):
                x = inputs[0].detach()
                states[name + ".running_mean"] = 0.9 * module.running_mean + 0.1 * x.mean((0, 2, 3))
                states[name + ".running_var"] = 0.9 * module.running_var + 0.1 * x.var((0, 2, 3), unbiased=False)
            module.register_forward_pre_hook(hook)


def step(make, weights, shape, dtype, optimizer, options):
    """One training step: loss, gradients, parameters before and after, states."""
    network, states = load(make(), weights, dtype).train(), {}
    watch_statistics(network, states)
    x, y = batch_of(shape)
    loss = functional.cross_entropy(network(x.to(dtype)), y)
    loss.backward()
    named = dict(network.named_parameters())
    before = {key: value.detach().clone() for key, value in named.items()}
    optimizer(network.parameters(), **options).step()
    gradients = {key: value.grad.numpy() for key, value in named.items()}
    return loss.item(), gradients, before, {k: v.detach() for k, v in named.items()}, states


def write_array(file, kind, name, array):
    flat = numpy.asarray(array, dtype=numpy.float64).ravel()
    stride = (flat.size + SAMPLES - 1) // SAMPLES
    file.write(f"{kind} {name} {numpy.linalg.norm(flat):.9g} {flat.size} {stride}\n")
    sample = [f"{value:.8g}" for value in flat[::stride]]
    for i in range(0, len(sample), 16):
        file.write(" ".join(sample[i:i + 16]) + "\n")


def make(halka, name):
    network, seed, options, shape = NETWORKS[name]
    weights = weights_of(halka, name, seed, options)
    nearest[0] = 1.0
    loss, gradients, before, sgd, states = step(network, weights, shape, torch.float64, torch.optim.SGD, SGD)
    if nearest[0] < MARGIN:
        raise SystemExit(f"{name}: an input of a ReLU is {nearest[0]:.1e} from zero; take another seed")
    adamw = step(network, weights, shape, torch.float64, torch.optim.AdamW, ADAMW)[3]
    single = step(network, weights, shape, torch.float32, torch.optim.SGD, SGD)
    worst = max(numpy.abs(single[1][key] - value).max() / numpy.abs(value).max() for key, value in gradients.items())
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".txt"), "w", encoding="utf-8") as file:
        file.write(f"loss {loss:.12g}\n")
        for key, value in gradients.items():
            write_array(file, "gradient", key, value)
        for key, value in states.items():
            write_array(file, "state", key, value)
        for kind, after in (("sgd", sgd), ("adamw", adamw)):
            for key, value in after.items():
                file.write(f"{kind} {key} {value.norm().item():.9g} {(value - before[key]).norm().item():.9g}\n")
    print(f"{name}: loss {loss:.9g}; PyTorch's float32 is off by {abs(single[0] / loss - 1):.1e} in the loss, "
          f"{worst:.1e} of a gradient's largest entry")


def main():
    torch.set_num_threads(1)
    for name in sys.argv[2:] or NETWORKS:
        make(sys.argv[1], name)


if __name__ == "__main__":
    main()
