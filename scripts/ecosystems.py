"""What the original tools say of what `quire convert` writes; run by check_ecosystems.

    ecosystems.py QUIRE MODELS
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

import gguf
import numpy
import torch
import torch.distributed.checkpoint as dcp
from safetensors import safe_open
from safetensors.torch import load_file, save_model
from torch.distributed.checkpoint import CheckpointException
from torch.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files
from transformers import AutoModelForCausalLM
from transformers.utils import logging

QUIRE, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])
NAMES = ["gpt2_tiny", "llama_tiny", "llama3_small", "mistral_small", "qwen2_small", "qwen3_small"]
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def convert(source, out, to, *options):
    subprocess.run([QUIRE, "convert", source, out, "--to", to, *options], check=True, capture_output=True, text=True)
    return out


def tensors_of(folder):
    """Of all its safetensors files, each of which must open and be marked as torch's."""
    tensors = {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            assert file.metadata()["format"] == "pt", path
            tensors |= {name: file.get_tensor(name) for name in file.keys()}
    return tensors


def golden(name):
    return load_file(MODELS / name / "model.safetensors")


def expect_equal(got, wanted):
    assert got.keys() == wanted.keys(), set(got) ^ set(wanted)
    for name, tensor in wanted.items():
        assert got[name].dtype == tensor.dtype and torch.equal(got[name], tensor), name


def expect_golden(folder, name):
    """transformers loads the folder without a complaint and computes the golden logits."""
    values = load_file(MODELS / name / "golden.safetensors")
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    with torch.no_grad():
        logits = model.eval()(values["input_ids"].long()).logits
    largest = values["logits"].abs().max()
    assert (logits - values["logits"]).abs().max() <= 1e-5 * largest


def check_route(work, name, *route):
    """Through the formats of the route, and back to Hugging Face."""
    at = MODELS / name
    for number, to in enumerate([*route, "hf"]):
        at = convert(at, work / (f"{number}.bin" if to == "llmc" else str(number)), to)
    expect_golden(at, name)
    expect_equal(tensors_of(at), golden(name))


def check_sharded(work, name):
    folder = convert(MODELS / name, work / "out", "hf", "--max-shard", "50KiB")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 1
    expect_golden(folder, name)
    expect_equal(tensors_of(folder), golden(name))


def check_dtype(work, name, dtype):
    folder = convert(MODELS / name, work / "out", "hf", "--dtype", dtype)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert model.dtype == TYPES[dtype]
    expect_equal(tensors_of(folder), {key: value.to(TYPES[dtype]) for key, value in golden(name).items()})


def check_dcp_load(work, name, shards):
    wanted = golden(name)
    folder = convert(MODELS / name, work / "out", "dcp", "--shards", str(shards))
    assert len(list(folder.glob("shard-*.safetensors"))) == shards
    got = {key: torch.zeros_like(value) for key, value in wanted.items()}
    dcp.load(got, storage_reader=dcp.HuggingFaceStorageReader(str(folder)), no_dist=True)
    expect_equal(got, wanted)


def check_dcp_consolidation(work, name, shards):
    wanted = golden(name)
    folder = convert(MODELS / name, work / "out", "dcp", "--shards", str(shards))
    (work / "whole").mkdir()
    consolidate_safetensors_files(str(folder), str(work / "whole"), {key: 1 for key in wanted})
    expect_equal(load_file(next((work / "whole").glob("*.safetensors"))), wanted)


def check_save_model(work, name):
    """safetensors' own save_model keeps one name of tensors that are tied, the head's."""
    (work / "model").mkdir()
    shutil.copy(MODELS / name / "config.json", work / "model")
    save_model(AutoModelForCausalLM.from_pretrained(MODELS / name), str(work / "model" / "model.safetensors"))
    expect_golden(convert(work / "model", work / "out", "hf"), name)


def interleaved(tensor, heads):
    """llama.cpp rotates neighbours where Hugging Face rotates halves."""
    return tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def of_gguf(name, tensor, config, arch, names):
    """A tensor of Hugging Face under its name and in its layout in a GGUF file."""
    stem, _, kind = name.rpartition(".")
    found = names.get_name(stem)
    assert found, name
    if any(part in name for part in ("c_attn", "c_proj", "c_fc")) and kind == "weight":
        tensor = tensor.t()
    if arch == "llama" and ".q_proj" in name:
        tensor = interleaved(tensor, config["num_attention_heads"])
    if arch == "llama" and ".k_proj" in name:
        tensor = interleaved(tensor, config["num_key_value_heads"])
    return f"{found}.{kind}", tensor


def values_of(tensor):
    if tensor.tensor_type == gguf.GGMLQuantizationType.BF16:
        shape = tuple(int(extent) for extent in reversed(tensor.shape))
        return torch.from_numpy(tensor.data.view(numpy.int16).copy()).view(torch.bfloat16).reshape(shape)
    return torch.from_numpy(tensor.data.copy())


def check_gguf(work, name, dtype):
    config = json.loads((MODELS / name / "config.json").read_text())
    arch = {"mistral": "llama"}.get(config["model_type"], config["model_type"])
    reader = gguf.GGUFReader(convert(MODELS / name, work / "model.gguf", "gguf", "--dtype", dtype))
    fields = {key: field.contents() for key, field in reader.fields.items()}
    assert fields["general.architecture"] == arch
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    assert fields[f"{arch}.block_count"] == layers
    names = gguf.get_tensor_name_map({v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[arch], layers)
    got = {tensor.name: values_of(tensor) for tensor in reader.tensors}
    divisors = got.pop("rope_freqs.weight", None)
    assert (divisors is not None) == (name == "llama3_small")
    wanted = dict(of_gguf(key, value, config, arch, names) for key, value in golden(name).items())
    small = {key for key, value in wanted.items() if value.dim() < 2} | {"position_embd.weight"}
    expect_equal(got, {key: value.to(torch.float32 if key in small else TYPES[dtype]).contiguous()
                       for key, value in wanted.items()})


def checks():
    for name in NAMES:
        for route in [[], ["quire"], ["dcp"], ["quire", "dcp"], *([["llmc"]] if name == "gpt2_tiny" else [])]:
            yield check_route, name, *route
        yield check_sharded, name
        yield check_save_model, name
        for dtype in ("fp16", "bf16"):
            yield check_dtype, name, dtype
        for shards in (1, 3):
            yield check_dcp_load, name, shards
            yield check_dcp_consolidation, name, shards
        for dtype in TYPES:
            yield check_gguf, name, dtype


def main():
    logging.disable_progress_bar()
    passed = failed = 0
    for check, *arguments in checks():
        work = pathlib.Path(tempfile.mkdtemp())
        label = " ".join([check.__name__, *map(str, arguments)])
        try:
            check(work, *arguments)
            passed += 1
        except (Exception, CheckpointException) as error:
            failed += 1
            detail = error.stderr if isinstance(error, subprocess.CalledProcessError) else traceback.format_exc()
            print(f"FAILED {label}\n{detail}")
        finally:
            shutil.rmtree(work, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
