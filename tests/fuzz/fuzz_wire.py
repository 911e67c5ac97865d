"""Damaged bytes against every decoder of `headrace.wire`.

    python tests/fuzz/fuzz_wire.py [seconds] [seed]

Takes valid messages, headers and batches, damages them, and decodes what is left: the only failures allowed are
PeerError and CorruptBatch, and memory stays within a bound that follows from the length of the input. A failure prints
the seed of its round; giving that seed repeats it first.
"""

import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from headrace.base.errors import PeerError
from headrace.wire.apis import APIS
from headrace.wire.batch import CorruptBatch, iter_headers
from headrace.wire.codec import decode, encoded
from headrace.wire.frame import parse_request_header, request_frame
from headrace.wire.records import Record, build_batch, read_records
from headrace.wire.schema import Field, Message, StructType

# The smallest array element takes two bytes on the wire and becomes an object of about a hundred.
BYTES_PER_BYTE_MAX = 128
BYTES_MAX_BASE = 64 * 1024
RECORD_BYTES_MAX = 256 * 1024

EVERY_VERSION: list[tuple[type[Message], int]] = [
    (cls, version) for api in APIS.values() for cls in (api.request, api.response) for version in cls.VERSIONS
]
NASTY = [
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff" * 9,
    b"\x00\x00\x00\x00",
    b"\x7f\xff",
    b"\xff\xff",
]


def sample(cls: StructType, version: int, rng: random.Random, items_max: int = 3) -> Any:
    """A message whose every field is set, to anything its type allows."""
    fields = [field for field in cls.FIELDS if version in field.versions]
    return cls(**{field.name: _value(field, version, rng, items_max) for field in fields})


def _value(field: Field, version: int, rng: random.Random, items_max: int) -> Any:
    if version in field.nullable and rng.random() < 0.2:
        return None
    if field.kind == "array":
        return [_value(field.of, version, rng, items_max) for _ in range(rng.randint(0, items_max))]
    if field.kind == "struct":
        return sample(field.of, version, rng, items_max)
    if field.kind == "string":
        return "".join(rng.choices("abcxyzäß€", k=rng.choice((0, 1, 7, 130))))
    if field.kind == "bytes":
        return rng.randbytes(rng.choice((0, 1, 7, 130)))
    if field.kind == "records":
        return memoryview(_batch(rng))
    return _fixed(field.code, rng)


def _fixed(code: str, rng: random.Random) -> Any:
    if code == "16s":
        return rng.randbytes(16)
    if code == "?":
        return rng.random() < 0.5
    if code == "d":
        return rng.random()
    if code == "H":
        return rng.randrange(1 << 16)
    bits = {"b": 8, "h": 16, "i": 32, "q": 64}[code]
    return rng.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _batch(rng: random.Random) -> bytes:
    records = [
        Record(timestamp=rng.randint(0, 2**40), key=rng.randbytes(3), value=rng.randbytes(20), headers=[("h", b"v")])
        for _ in range(rng.randint(1, 4))
    ]
    return build_batch(records, codec=rng.randint(0, 4))


def damaged(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(out))
        match rng.randint(0, 5):
            case 0:
                del out[at:]
            case 1:
                out[at : at + rng.randint(1, 9)] = b""
            case 2:
                out[at:at] = rng.randbytes(rng.randint(1, 9))
            case 3:
                nasty = rng.choice(NASTY)
                out[at : at + len(nasty)] = nasty
            case _ if at < len(out):
                out[at] ^= 1 << rng.randint(0, 7)
    return bytes(out)


def _read_header_and_body(frame: bytes) -> None:
    header = parse_request_header(frame)
    if (api := APIS.get(header.api_key)) and header.api_version in api.request.VERSIONS:
        decode(api.request, header.api_version, frame, header.body_pos)


def _read_batches(data: bytes) -> None:
    for pos, _ in iter_headers(data):
        read_records(memoryview(data)[pos:], RECORD_BYTES_MAX)


def attacks(seed: int) -> Iterator[tuple[str, bytes, Callable[[bytes], object]]]:
    """One round: (name, valid bytes, reader) for every message at every version, some frames and some batches."""
    rng = random.Random(seed)
    for cls, version in EVERY_VERSION:
        message = sample(cls, version, rng)

        def read(data: bytes, cls: type[Message] = cls, version: int = version) -> object:
            return decode(cls, version, data)

        yield f"{cls.__name__} v{version}", encoded(message, version), read
    for api in APIS.values():
        message = sample(api.request, api.max_version, rng)
        yield (
            f"frame of {api.name}",
            b"".join(request_frame(message, api.max_version, 1, "me"))[4:],
            _read_header_and_body,
        )
    for _ in range(20):
        yield "batches", _batch(rng) + _batch(rng), _read_batches


def run_round(seed: int) -> int:
    """Runs one round and returns how many inputs were refused; raises AssertionError on anything else."""
    rng = random.Random(seed)
    refused = 0
    for name, valid, read in attacks(seed):
        read(valid)
        data = damaged(valid, rng)
        tracemalloc.start()
        try:
            read(data)
        except (PeerError, CorruptBatch):
            refused += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {name} raised {error!r} on {data.hex()}") from error
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        bound = BYTES_MAX_BASE + BYTES_PER_BYTE_MAX * len(data)
        bound += 2 * RECORD_BYTES_MAX if name == "batches" else 0
        assert peak <= bound, f"seed {seed}: {name} took {peak} bytes of memory for {data.hex()}"
    return refused


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    deadline = time.monotonic() + seconds
    rounds = refused = 0
    while rounds == 0 or time.monotonic() < deadline:
        refused += run_round(seed + rounds)
        rounds += 1
    print(f"fuzz_wire: {rounds} rounds from seed {seed}, {refused} inputs refused, nothing else raised")


if __name__ == "__main__":
    main()
