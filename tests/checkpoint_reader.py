#!/usr/bin/env python3
"""Reads a checkpoint as docs/checkpoint_format.md describes it, with the standard library alone, and believes nothing.

  tests/checkpoint_reader.py FOLDER     a checkpoint's folder: checks every rule and hash, prints what it holds

As a module: read(FOLDER) gives a Checkpoint, whose `tensors` are (KIND, PARAMETER): Tensor.
"""

import dataclasses
import json
import pathlib
import stat
import struct
import sys

from xxh3 import xxh3_64

TILE = 256
WIDTHS = {"fp32": 4, "bf16": 2, "fp16": 2, "i32": 4, "i64": 8, "u8": 1}
SAFETENSORS_NAMES = {"fp32": "F32", "bf16": "BF16", "fp16": "F16", "i32": "I32", "i64": "I64", "u8": "U8"}
MOST_HEADER = 100_000_000
MOST_MANIFEST = 256 << 20
ENDING_BYTES = 34


class Broken(Exception):
    """The rule that the checkpoint breaks, and where."""


@dataclasses.dataclass
class Tensor:
    """One kind of one parameter: its elements as they are stored, little endian, in flat order."""
    dtype: str
    shape: list
    bytes: bytes


@dataclasses.dataclass
class Checkpoint:
    """`tensors` by (kind, parameter)."""
    manifest: dict
    tensors: dict


def require(holds, rule):
    if not holds:
        raise Broken(rule)


# ---- JSON

def unique(pairs):
    result = dict(pairs)
    require(len(result) == len(pairs), "a key stands twice in one object")
    return result


def not_json(text):
    raise Broken(f"{text} is no JSON")


def parse_json(text, source):
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_constant=not_json)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise Broken(f"{source}: {error}") from None


def field(holder, key, kind, source):
    """holder[key], which must be of the type `kind`; a bool is no int."""
    require(isinstance(holder, dict) and key in holder, f"{source}: the key {key} is missing")
    value = holder[key]
    require(type(value) is kind, f"{source}: {key} is {value!r}; expected {kind.__name__}")
    return value


def count(holder, key, least, source):
    value = field(holder, key, int, source)
    require(least <= value < 1 << 63, f"{source}: {key} is {value}")
    return value


def hash_of(holder, key, source):
    text = field(holder, key, str, source)
    require(len(text) == 16 and set(text) <= set("0123456789abcdef"), f"{source}: {key} is {text!r}")
    return int(text, 16)


def words(hashes):
    return struct.pack(f"<{len(hashes)}Q", *hashes)


# ---- Shards: safetensors

def read_regular(path, most=None):
    status = path.lstat() if path.is_symlink() or path.exists() else None
    require(status is not None, f"{path} is not there")
    require(stat.S_ISREG(status.st_mode), f"{path} is no regular file")
    require(most is None or status.st_size <= most, f"{path} has {status.st_size} bytes")
    return path.read_bytes()


@dataclasses.dataclass
class Shard:
    """`entries` by name: (dtype, shape, bytes)."""
    metadata: dict
    entries: dict


def numel_of(shape, source):
    require(isinstance(shape, list) and all(type(dim) is int and dim >= 0 for dim in shape), f"{source}: shape {shape}")
    numel = 1
    for dim in shape:
        numel *= dim
    return numel


def parse_entry(name, entry, buffer, source):
    offsets = field(entry, "data_offsets", list, source)
    require(len(offsets) == 2 and all(type(offset) is int for offset in offsets), f"{source}: {name}: {offsets}")
    begin, end = offsets
    require(0 <= begin <= end <= len(buffer), f"{source}: {name}: {offsets} leaves the file")
    shape = field(entry, "shape", list, source)
    numel_of(shape, source)
    return begin, end, (field(entry, "dtype", str, source), shape, buffer[begin:end])


def read_shard(path, listed):
    data = read_regular(path)
    require(len(data) == count(listed, "bytes", 0, "files"), f"{path} has {len(data)} bytes")
    require(len(data) >= 8, f"{path} is too short")
    (length,) = struct.unpack_from("<Q", data)
    require(length <= min(MOST_HEADER, len(data) - 8), f"{path} announces a header of {length} bytes")
    require(xxh3_64(data[:8 + length]) == hash_of(listed, "header_checksum", "files"), f"{path} has another header")
    header = parse_json(data[8:8 + length], path)
    require(data[8:9] == b"{" and isinstance(header, dict), f"{path}: the header is no object")
    metadata = header.pop("__metadata__", {})
    buffer, ranges, entries = data[8 + length:], [], {}
    for name, entry in header.items():
        begin, end, entries[name] = parse_entry(name, entry, buffer, path)
        ranges.append((begin, end))
    at = 0
    for begin, end in sorted(ranges):
        require(begin == at, f"{path}: byte {at} belongs to none or to two")
        at = end
    require(at == len(buffer), f"{path}: bytes that belong to no tensor")
    return Shard(metadata, entries)


# ---- The manifest

def parse_manifest(data, source):
    body, ending = data[:-ENDING_BYTES], data[-ENDING_BYTES:]
    require(ending == f' "checksum": "{xxh3_64(body):016x}"\n}}\n'.encode(), f"{source}: cut short or changed")
    manifest = parse_json(data, source)
    require(field(manifest, "format", str, source) == "quire-checkpoint", f"{source}: another format")
    require(count(manifest, "version", 1, source) == 1, f"{source}: another version")
    for key in ("step", "updates", "position"):
        count(manifest, key, 0, source)
    require(0 <= field(manifest, "seed", int, source) < 1 << 64, f"{source}: seed")
    count(manifest, "ranks", 1, source)
    hash_of(manifest, "kernels", source)
    field(manifest, "config", dict, source)
    require(all(type(note) is str for note in field(manifest, "notes", dict, source).values()), f"{source}: notes")
    return manifest


def check_files(manifest, source):
    names = [field(file, "name", str, source) for file in field(manifest, "files", list, source)]
    require(len(set(names)) == len(names), f"{source}: a file is listed twice")
    for name in names:
        require(name not in ("", ".", "..") and "/" not in name and "\0" not in name, f"{source}: {name!r} is not plain")


def check_parts(state, numel, files, source):
    end, used = 0, set()
    for part in field(state, "parts", list, source):
        file, first = count(part, "file", 0, source), count(part, "first", 0, source)
        require(file < files and file not in used, f"{source}: two parts in one file, or in none")
        require(first == end and first % TILE == 0, f"{source}: hole, overlap, or no start of a tile at {first}")
        used.add(file)
        end += count(part, "count", 1, source)
    require(end == numel, f"{source}: the parts cover {end} of {numel} elements")


def check_parameter(parameter, files):
    name = field(parameter, "name", str, "parameters")
    require(name != "", "a parameter without a name")
    field(parameter, "trainable", bool, name)
    numel = numel_of(field(parameter, "shape", list, name), name)
    kinds = [field(state, "kind", str, name) for state in field(parameter, "states", list, name)]
    require(kinds == sorted(set(kinds), key=str.encode), f"{name}: kinds are not sorted, or stand twice")
    for state in parameter["states"]:
        kind = state["kind"]
        require(kind not in ("", "tiles") and ":" not in kind, f"{name}: the kind {kind!r}")
        require(field(state, "dtype", str, name) in WIDTHS, f"{name}: the type {state['dtype']}")
        check_parts(state, numel, files, f"{kind}:{name}")


def fingerprint_of(manifest):
    """From the hashes that the manifest lists."""
    items = [(state["kind"].encode(), parameter["name"].encode(), hash_of(state, "hash", parameter["name"]))
             for parameter in manifest["parameters"] for state in parameter["states"]]
    return xxh3_64(b"".join(kind + b"\0" + name + b"\0" + words([value]) for kind, name, value in sorted(items)))


# ---- Values

def read_tiles(data, width, hashes, source):
    """Every tile against its hash."""
    step = TILE * width
    require(len(hashes) == -(-len(data) // step), f"{source}: {len(hashes)} hashes of tiles")
    for i, expected in enumerate(hashes):
        require(xxh3_64(data[i * step:(i + 1) * step]) == expected, f"{source}: tile {i} fails its hash")


def read_part(shard, name, state, part):
    """The part's bytes and the hashes of its tiles."""
    width, source = WIDTHS[state["dtype"]], f"{name} in file {part['file']}"
    require(name in shard.entries and "tiles:" + name in shard.entries, f"{source}: not there")
    dtype, shape, data = shard.entries.pop(name)
    require(dtype == SAFETENSORS_NAMES[state["dtype"]] and shape == [part["count"]], f"{source}: {dtype} {shape}")
    require(len(data) == part["count"] * width, f"{source}: {len(data)} bytes")
    dtype, shape, stored = shard.entries.pop("tiles:" + name)
    require(dtype == "U64" and shape == [len(stored) // 8] and len(stored) % 8 == 0, f"{source}: tiles {dtype} {shape}")
    require(shard.metadata.get("first:" + name) == str(part["first"]), f"{source}: another range")
    require(xxh3_64(stored) == hash_of(part, "hash", source), f"{source}: of another checkpoint")
    hashes = list(struct.unpack(f"<{len(stored) // 8}Q", stored))
    read_tiles(data, width, hashes, source)
    return data, hashes


def read_state(shards, parameter, state):
    name = f"{state['kind']}:{parameter['name']}"
    data, tiles = b"", []
    for part in state["parts"]:
        more, hashes = read_part(shards[part["file"]], name, state, part)
        data += more
        tiles += hashes
    require(xxh3_64(words(tiles)) == hash_of(state, "hash", name), f"{name}: another hash")
    return Tensor(state["dtype"], parameter["shape"], data)


def read(folder):
    """Raises Broken at the first rule that does not hold."""
    folder = pathlib.Path(folder)
    source = folder / "manifest.json"
    manifest = parse_manifest(read_regular(source, MOST_MANIFEST), source)
    check_files(manifest, source)
    for parameter in field(manifest, "parameters", list, source):
        check_parameter(parameter, len(manifest["files"]))
    names = [parameter["name"] for parameter in manifest["parameters"]]
    require(len(set(names)) == len(names), f"{source}: a parameter stands twice")
    require(fingerprint_of(manifest) == hash_of(manifest, "fingerprint", source), f"{source}: another fingerprint")
    shards = [read_shard(folder / file["name"], file) for file in manifest["files"]]
    for file, shard in zip(manifest["files"], shards):
        require(shard.metadata.get("format") == "pt", f"{file['name']}: metadata")
        require(shard.metadata.get("quire.step") == str(manifest["step"]), f"{file['name']}: of another step")
    tensors = {(state["kind"], parameter["name"]): read_state(shards, parameter, state)
               for parameter in manifest["parameters"] for state in parameter["states"]}
    for file, shard in zip(manifest["files"], shards):
        require(not shard.entries, f"{file['name']}: holds what the manifest does not list: {list(shard.entries)}")
    return Checkpoint(manifest, tensors)


def main():
    try:
        checkpoint = read(sys.argv[1])
    except Broken as error:
        sys.exit(f"error: {error}")
    for (kind, name), tensor in checkpoint.tensors.items():
        print(kind, name, tensor.dtype, tensor.shape)
    print("fingerprint", checkpoint.manifest["fingerprint"])


if __name__ == "__main__":
    main()
