"""Instructions that numba lacks for moving bytes: a copy, an unaligned load, and the processor's own CRC-32C.

A processor without that instruction is served by a table: slower, the same result.
"""

# numba reads types off the values that come.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg"

import numpy as np
from llvmlite import binding, ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _address(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(builder.bitcast(data, _I8.as_pointer()), [index])


@intrinsic
def copy_bytes(typing, target, at, source, begin, size):
    """target[at : at + size] = source[begin : begin + size], unchecked."""
    signature = types.void(target, types.int64, source, types.int64, types.int64)

    def generate(context, builder, signature, values):
        to = _address(context, builder, signature.args[0], values[0], values[1])
        source = _address(context, builder, signature.args[2], values[2], values[3])
        cgutils.raw_memcpy(builder, to, source, values[4], 1)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def load_uint64(typing, buffer, at):
    """Eight bytes at any position, little end first, unchecked."""
    signature = types.uint64(buffer, types.int64)

    def generate(context, builder, signature, values):
        address = _address(context, builder, signature.args[0], values[0], values[1])
        return builder.load(builder.bitcast(address, _I64.as_pointer()), align=1)

    return signature, generate


def _crc_instruction(name: str, width: ir.IntType):
    @intrinsic
    def crc_of_eight(typing, crc, eight):
        signature = types.uint64(types.uint64, types.uint64)

        def generate(context, builder, signature, values):
            step = cgutils.get_or_insert_function(builder.module, ir.FunctionType(width, [width, _I64]), name)
            crc = values[0] if width is _I64 else builder.trunc(values[0], width)
            result = builder.call(step, [crc, values[1]])
            return result if width is _I64 else builder.zext(result, _I64)

        return signature, generate

    return crc_of_eight


def _crc_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ 0x82F63B78, table >> 1)
    return table.astype(np.uint64)


_TABLE = _crc_table()


@njit(cache=True, nogil=True)
def _crc_of_eight_by_table(crc, eight):
    for _ in range(8):
        crc = _TABLE[(crc ^ eight) & np.uint64(0xFF)] ^ (crc >> np.uint64(8))
        eight >>= np.uint64(8)
    return crc


def _best_crc():
    features, triple = binding.get_host_cpu_features(), binding.get_process_triple()
    if triple.startswith("x86_64") and features.get("sse4.2"):
        return _crc_instruction("llvm.x86.sse42.crc32.64.64", _I64)
    if triple.startswith(("aarch64", "arm64")) and features.get("crc"):
        return _crc_instruction("llvm.aarch64.crc32cx", _I32)
    return _crc_of_eight_by_table


_crc_of_eight = _best_crc()


@njit(cache=True, nogil=True)
def crc32c(buffer, begin, end):
    crc, position = np.uint64(0xFFFFFFFF), begin
    while position + 8 <= end:
        crc = _crc_of_eight(crc, load_uint64(buffer, position))
        position += 8
    while position < end:
        crc = _TABLE[(crc ^ np.uint64(buffer[position])) & np.uint64(0xFF)] ^ (crc >> np.uint64(8))
        position += 1
    return crc ^ np.uint64(0xFFFFFFFF)
