#!/usr/bin/env python3
"""Tokens per second of PyTorch beside bench/train, on the same model, samples and cores, in turn.

  bench/pytorch.py [124m|small] [ROUNDS]     with a Python that has torch; build/bench/train is built

fp32, AdamW (fused), attention by scaled_dot_product_attention; gradients are taken from zero in every step:
  eager     one process with two threads, beside Quire's rank with two
  compiled  the same under torch.compile
  fsdp      two processes with a thread each, every block and the rest sharded by fully_shard over gloo, half of the
            samples each, beside Quire's two ranks at stage 3
Every round runs all of them, each in processes of its own that have trained as long before they are timed. A ratio is
Quire's speed over PyTorch's in the same round; printed are medians, least and most.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

TRAIN = pathlib.Path(__file__).resolve().parent.parent / "build/bench/train"
CORES = 2
# What a line of bench/train measures beside each way of training.
BESIDE = {"eager": "1 rank, 2 threads", "compiled": "1 rank, 2 threads", "fsdp": "2 ranks, 1 thread, stage 3"}


@dataclasses.dataclass(frozen=True)
class Case:
    """As in bench/model_case.cpp; `steps` are timed as one."""
    layers: int
    width: int
    heads: int
    context: int
    vocab: int
    samples: int
    sequence: int
    steps: int


CASES = {
    "124m": Case(12, 768, 12, 1024, 50257, 4, 256, 1),
    "small": Case(4, 128, 4, 64, 256, 12, 64, 16),
}


class Block(nn.Module):

    def __init__(self, case):
        super().__init__()
        self.heads = case.heads
        self.norm1, self.norm2 = nn.LayerNorm(case.width), nn.LayerNorm(case.width)
        self.qkv, self.out = nn.Linear(case.width, 3 * case.width), nn.Linear(case.width, case.width)
        self.up, self.down = nn.Linear(case.width, 4 * case.width), nn.Linear(4 * case.width, case.width)

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(c, dim=2))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):

    def __init__(self, case):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(case.vocab, case.width), nn.Embedding(case.context, case.width)
        self.blocks = nn.ModuleList(Block(case) for _ in range(case.layers))
        self.norm = nn.LayerNorm(case.width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), ids.flatten())


def sharded(model):
    from torch.distributed.fsdp import fully_shard
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def tokens_per_second(model, case, samples):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    ids = (torch.arange(samples * case.sequence) * 7919 % case.vocab).view(samples, case.sequence)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            model(ids).backward()
            optimizer.step()

    steps(1 + case.steps)  # states are made, code is compiled
    start = time.perf_counter()
    steps(case.steps)
    return samples * case.sequence * case.steps / (time.perf_counter() - start)


def one_process(case, model):
    torch.set_num_threads(CORES)
    return tokens_per_second(model, case, case.samples)


def rank(number, case, port, rates):
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=number, world_size=CORES)
    rates[number] = tokens_per_second(sharded(Gpt2(case)), case, case.samples // CORES)
    dist.destroy_process_group()


def processes(case):
    context = torch.multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        rates = manager.dict()
        torch.multiprocessing.start_processes(rank, (case, 29500 + os.getpid() % 1000, rates), CORES)
        return sum(rates.values())


def measure(way, case):
    if way == "fsdp":
        return processes(case)
    return one_process(case, torch.compile(Gpt2(case)) if way == "compiled" else Gpt2(case))


def pytorch_round(name):
    """Tokens per second of each way, each in a new interpreter."""
    command = [sys.executable, __file__, name, "1", "--way"]
    return {way: float(subprocess.run(command + [way], check=True, stdout=subprocess.PIPE, text=True).stdout)
            for way in BESIDE}


def quire_round(name):
    """Tokens per second by the names of bench/train's lines."""
    output = subprocess.run([TRAIN, name, "1"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line: float(rate) for line, rate in re.findall(r"^(.+?) +([\d.]+) tokens/s", output, re.M)}


def report(rounds):
    for way, line in BESIDE.items():
        ratios = [quire[line] / pytorch[way] for quire, pytorch in rounds]
        quire = statistics.median(quire[line] for quire, _ in rounds)
        pytorch = statistics.median(pytorch[way] for _, pytorch in rounds)
        print(f"{line:<28} {quire:9.1f} tokens/s   PyTorch {way:<9} {pytorch:9.1f} tokens/s   "
              f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", choices=CASES, default="124m")
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    parser.add_argument("--way", choices=BESIDE, help="print PyTorch's tokens per second in this way alone")
    arguments = parser.parse_args()
    if arguments.way:
        print(measure(arguments.way, CASES[arguments.case]))
        return
    print(f"PyTorch {torch.__version__}, {arguments.case}, medians of {arguments.rounds} rounds")
    report([(quire_round(arguments.case), pytorch_round(arguments.case)) for _ in range(arguments.rounds)])


if __name__ == "__main__":
    main()
