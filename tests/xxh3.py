"""XXH3-64 with seed 0 and the default secret, for readers in Python: slow and plain."""

import struct

MASK = (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MIX_1, MIX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")

STRIPE, BLOCK = 64, 1024  # bytes; a block ends when the secret does


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def rotated(value, by):
    return (value << by | value >> (64 - by)) & MASK


def swapped(value):
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def folded(a, b):
    """The halves of the 128-bit product, xored."""
    product = a * b
    return (product ^ product >> 64) & MASK


def avalanche(value):
    value &= MASK
    value ^= value >> 37
    value = value * MIX_1 & MASK
    return value ^ value >> 32


def avalanche_short(value):
    value ^= value >> 33
    value = value * P64_2 & MASK
    value ^= value >> 29
    value = value * P64_3 & MASK
    return value ^ value >> 32


def mix(data, at, secret):
    """16 bytes from `at` with the secret's from `secret`."""
    return folded(u64(data, at) ^ u64(SECRET, secret), u64(data, at + 8) ^ u64(SECRET, secret + 8))


def hash_to_3(data):
    size = len(data)
    word = data[-1] | size << 8 | data[0] << 16 | data[size >> 1] << 24
    return avalanche_short(word ^ u32(SECRET, 0) ^ u32(SECRET, 4))


def hash_to_8(data):
    size = len(data)
    value = u32(data, size - 4) | u32(data, 0) << 32
    value ^= u64(SECRET, 8) ^ u64(SECRET, 16)
    value ^= rotated(value, 49) ^ rotated(value, 24)
    value = value * MIX_2 & MASK
    value = (value ^ (value >> 35) + size) * MIX_2 & MASK
    return value ^ value >> 28


def hash_to_16(data):
    size = len(data)
    low = u64(data, 0) ^ u64(SECRET, 24) ^ u64(SECRET, 32)
    high = u64(data, size - 8) ^ u64(SECRET, 40) ^ u64(SECRET, 48)
    return avalanche(size + swapped(low) + high + folded(low, high))


def hash_to_128(data):
    size = len(data)
    total = size * P64_1
    for i in range((size - 1) // 32 + 1):
        total += mix(data, 16 * i, 32 * i) + mix(data, size - 16 * (i + 1), 32 * i + 16)
    return avalanche(total)


def hash_to_240(data):
    size = len(data)
    total = size * P64_1 + sum(mix(data, 16 * i, 16 * i) for i in range(8))
    total = avalanche(total)
    total += sum(mix(data, 16 * i, 16 * (i - 8) + 3) for i in range(8, size // 16))
    return avalanche(total + mix(data, size - 16, 119))


def add_stripe(lanes, data, at, secret):
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", SECRET, secret)
    for i in range(8):
        key = values[i] ^ keys[i]
        lanes[i ^ 1] = lanes[i ^ 1] + values[i] & MASK
        lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & MASK


def scramble(lanes):
    keys = struct.unpack_from("<8Q", SECRET, len(SECRET) - STRIPE)
    for i in range(8):
        lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ keys[i]) * P32_1 & MASK


def hash_long(data):
    size = len(data)
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    for at in range(0, (size - 1) // STRIPE * STRIPE, STRIPE):
        add_stripe(lanes, data, at, at % BLOCK // 8)
        if at % BLOCK == BLOCK - STRIPE:
            scramble(lanes)
    add_stripe(lanes, data, size - STRIPE, len(SECRET) - STRIPE - 7)
    total = size * P64_1
    for i in range(4):
        total += folded(lanes[2 * i] ^ u64(SECRET, 11 + 16 * i), lanes[2 * i + 1] ^ u64(SECRET, 19 + 16 * i))
    return avalanche(total)


def xxh3_64(data):
    if not data:
        return avalanche_short(u64(SECRET, 56) ^ u64(SECRET, 64))
    for most, of_length in ((3, hash_to_3), (8, hash_to_8), (16, hash_to_16), (128, hash_to_128), (240, hash_to_240)):
        if len(data) <= most:
            return of_length(data)
    return hash_long(data)
