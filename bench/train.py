#!/usr/bin/env python3
"""Training steps of halka and PyTorch (CPU) in interleaved rounds: median milliseconds per step, ratio, peak memory.

    bench/train.py [--bench PROGRAM] [--threads N] [--rounds N] [--seconds S] [--compile] [NAME...]

PROGRAM is bench_train (cmake -DHALKA_BENCH=ON). Both sides are processes that live through all rounds and wait while
another one works; each does the same steps on the same fixed batch, so data loading is on neither side. One round is
about S seconds per side; the order of the sides turns from round to round. The ratio is the median of the ratios of the
rounds: these swing less than times do, because neighbours in time share the machine's mood. Needs torch, in the Python
that runs this file.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

# name -> (architecture, batch, optimizer)
CASES = {
    "mlp": ("mlp", 128, "adam"),
    "cnn": ("cnn", 128, "adam"),
    "resnet18": ("resnet18-cifar", 64, "sgd"),
}


# ---- The peer: a process of its own, which speaks bench_train's protocol. ----

def conv_bn(nn, channels, width, kernel, stride):
    return [nn.Conv2d(channels, width, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(width)]


def peer_network(name, torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.body = nn.Sequential(*conv_bn(nn, channels, width, 3, stride), nn.ReLU(inplace=True),
                                      *conv_bn(nn, width, width, 3, 1))
            same = channels == width and stride == 1
            self.shortcut = nn.Identity() if same else nn.Sequential(*conv_bn(nn, channels, width, 1, stride))

        def forward(self, x):
            return torch.relu_(self.body(x) + self.shortcut(x))

    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(inplace=True), nn.Linear(128, 10)), (1, 28, 28)
    layers = []
    if name == "cnn":
        channels = 1
        for width in (16, 32, 64):
            for _ in range(2):
                layers += [*conv_bn(nn, channels, width, 3, 1), nn.ReLU(inplace=True)]
                channels = width
            layers.append(nn.MaxPool2d(2))
        layers += [nn.Flatten(), nn.Dropout(0.3), nn.Linear(576, 128), nn.ReLU(inplace=True), nn.Dropout(0.3),
                   nn.Linear(128, 10)]
        return nn.Sequential(*layers), (1, 28, 28)
    channels = 64
    layers = [*conv_bn(nn, 3, 64, 3, 1), nn.ReLU(inplace=True)]
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(channels, width, stride), Block(width, width, 1)]
        channels = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), (3, 32, 32)


def peer(name, batch, optimizer, threads, mode):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    network, sample = peer_network(name, torch)
    shape = (batch, *sample)
    index = torch.arange(batch * sample[0] * sample[1] * sample[2], dtype=torch.int64)
    x = ((index * 2654435761 % 2**32) >> 8).float().mul(2.0**-23).sub(1).reshape(shape)
    y = (torch.arange(batch) * 7 + 3) % 10
    if mode == "channels_last":
        network, x = network.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    update = (torch.optim.SGD(network.parameters(), lr=1e-2, momentum=0.9) if optimizer == "sgd"
              else torch.optim.Adam(network.parameters(), lr=1e-3))
    network.train()
    forward = torch.compile(network) if mode == "compile" else network
    for line in sys.stdin:
        start, steps = time.perf_counter(), int(line)
        for _ in range(steps):
            update.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(forward(x), y)
            loss.backward()
            update.step()
        value = loss.item()
        print(f"{(time.perf_counter() - start) / steps:.9g} {value:.9g}", flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


# ---- The rounds. ----

class Side:
    """One process; run(n) does n steps and returns seconds per step."""

    def __init__(self, name, command):
        environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
        environment["CUDA_VISIBLE_DEVICES"] = ""
        self.name, self.times = name, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"{self.name}: ended early")
        return float(answer[0])

    def finish(self):
        self.process.stdin.close()
        peak = self.process.stdout.readline()
        self.process.wait()
        return int(peak) / 1024


def measure(name, options):
    architecture, batch, optimizer = CASES[name]
    own = [options.bench, architecture, str(batch), optimizer, str(options.threads)]
    sides = [Side("halka", own)]
    modes = ["eager"] + ([] if name == "mlp" else ["channels_last"]) + (["compile"] if options.compile else [])
    for mode in modes:
        command = [sys.executable, __file__, "--peer", f"{name},{batch},{optimizer},{options.threads},{mode}"]
        sides.append(Side(f"PyTorch {mode}", command))
    steps = {}
    for side in sides:
        side.run(2)  # warm up: plans, compilation, pages
        steps[side] = max(1, int(options.seconds / side.run(2)))
    for number in range(options.rounds):
        for k in range(len(sides)):
            side = sides[(k + number) % len(sides)]
            time.sleep(0.3)  # the other side's threads go to sleep
            side.times.append(side.run(steps[side]))
    print(f"\n{name}: batch {batch}, {optimizer}, {options.threads} threads, {options.rounds} rounds")
    print(f"{'':24}{'ms/step':>10}{'halka is':>12}{'peak MB':>10}")
    for side in sides:
        ratio = statistics.median(a / b for a, b in zip(side.times, sides[0].times))
        text = "" if side is sides[0] else f"{ratio:.2f}x"
        print(f"{side.name:24}{1e3 * statistics.median(side.times):10.3f}{text:>12}{side.finish():10.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bench", default="build/bench/bench_train")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--compile", action="store_true", help="measure torch.compile as well")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.peer:
        name, batch, optimizer, threads, mode = options.peer.split(",")
        peer(name, int(batch), optimizer, int(threads), mode)
        return
    unknown = [name for name in options.names if name not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]}; known: {', '.join(CASES)}")
    print("load of the machine before:", os.getloadavg()[0])
    for name in options.names or CASES:
        measure(name, options)
    print("\nload of the machine after:", os.getloadavg()[0])


if __name__ == "__main__":
    main()
