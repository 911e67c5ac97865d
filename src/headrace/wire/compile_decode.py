"""Writes the decoder of one message at one version as a single flat Python function.

    run(buf, pos, limit) -> message

Neighbouring fixed-width fields, and the length byte that follows them, are read by one `unpack_from`. Only array counts
are checked against the bytes left: an overlong string moves `pos` past `limit`, no read past `limit` can succeed, and
the last line refuses what got there, so the checks in between would find nothing more. The function raises PeerError,
and struct.error, IndexError and UnicodeDecodeError for `codec` to translate.

An object takes a hundred times the bytes that made it, so a request may hold only so many: without that bound, one
frame of a few megabytes would fill the memory and hold up everybody for a minute. What a broker answers is trusted.
"""

from struct import calcsize, unpack_from
from typing import Any

from headrace.base.errors import PeerError
from headrace.wire.primitives import SHORT, UNPACK_INT32S, rest_of_uvarint, skip_tags, tag_and_size
from headrace.wire.schema import Decoder, Field, Message, Request, StructType, has_records
from headrace.wire.source import Source

# Twice the partitions that a broker is built for.
ELEMENTS_MAX = 200_000


def compile_decoder(cls: type[Message], version: int) -> Decoder:
    if version not in cls.VERSIONS:
        raise PeerError(f"{cls.__name__} has no version {version}")
    source = _DecoderSource(cls, version)
    decoder: Decoder = source.function(f"decode {cls.__name__} v{version}", "buf, pos, limit")
    cls.DECODERS[version] = decoder
    return decoder


def size_min(field: Field, version: int, flexible: bool) -> int:
    """The fewest bytes a value of this field can take: what bounds the count of an array of them."""
    if field.kind == "fixed":
        return calcsize(">" + field.code)
    if field.kind != "struct":
        return 1 if flexible else 2 if field.kind == "string" else 4
    if version in field.nullable:
        return 1
    present = [inner for inner in field.of.FIELDS if version in inner.versions and version not in inner.tag_versions]
    return sum(size_min(inner, version, flexible) for inner in present) + flexible


class _DecoderSource(Source):
    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(
            new=object.__new__,
            unpack_from=unpack_from,
            UNPACK_INT32S=UNPACK_INT32S,
            rest_of_uvarint=rest_of_uvarint,
            tag_and_size=tag_and_size,
            skip_tags=skip_tags,
            PeerError=PeerError,
        )
        self._version = version
        self._flexible = version >= cls.FLEXIBLE
        self._run: list[tuple[str, str]] = []
        # Strings are cut from bytes twice as fast as from a memoryview, but records must not be copied.
        self._sliced = has_records(cls)
        wanted = "memoryview" if self._sliced else "bytes"
        self.line(f"if type(buf) is not {wanted}: buf = {wanted}(buf)")
        self._is_bounded = issubclass(cls, Request)
        if self._is_bounded:
            self.line(f"room = {ELEMENTS_MAX}")
        message = self._struct(cls)
        self._flush()
        with self.block("if pos > limit:"):
            self._refuse(f"{cls.__name__} is cut short")
        self.line(f"return {message}")

    def _refuse(self, reason: str) -> None:
        self.line(f"raise PeerError({reason!r})")

    def _flush(self) -> None:
        """Reads the fixed-width run collected so far."""
        if not self._run:
            return
        codes, targets = zip(*self._run, strict=True)
        self._run = []
        if codes == ("B",):
            self.line(f"{targets[0]} = buf[pos]; pos += 1")
            return
        unpack, size = self.layout(list(codes), "unpack_from")
        self.line(f"{', '.join(targets)}, = {unpack}(buf, pos); pos += {size}")

    def _struct(self, cls: StructType) -> str:
        target = self.fresh("struct")
        self.line(f"{target} = new({self.constant(cls.__name__, cls)})")
        tagged = []
        for field in cls.FIELDS:
            if self._version in field.tag_versions:
                tagged.append(field)
            if self._version in field.versions and field not in tagged:
                self._field(field, f"{target}.{field.name}")
            else:
                self.line(f"{target}.{field.name} = {self._default(field)}")
        if self._flexible:
            self._tags(tagged, target)
        return target

    def _default(self, field: Field) -> str:
        if isinstance(field.default, StructType):
            return f"{self.constant(field.default.__name__, field.default)}()"
        return repr(field.default)

    def _tags(self, tagged: list[Field], target: str) -> None:
        count = self.fresh("tags")
        self._run.append(("B", count))
        self._flush()
        with self.block(f"if {count}:"):
            if not tagged:
                self.line(f"pos = skip_tags(buf, pos, {count})")
                return
            self._long_uvarint(count)
            with self.block(f"for _ in range({count}):"):
                self.line("tag, size, pos = tag_and_size(buf, pos)")
                for field in tagged:
                    with self.block(f"if tag == {field.tag}:"):
                        # Kafka goes by the field's own end, not by the size in front of it; so do we.
                        self._field(field, f"{target}.{field.name}")
                        self._flush()
                        self.line("continue")
                self.line("pos += size")

    def _field(self, field: Field, target: str) -> None:
        if field.kind == "fixed":
            self._run.append((field.code, target))
        elif field.kind == "struct":
            self._nested(field, target)
        elif field.kind == "array":
            self._array(field, target)
        else:
            self._slice(field, target)

    def _nested(self, field: Field, target: str) -> None:
        if self._version not in field.nullable:
            # The object is complete only after its own reads, but the attribute may point to it before.
            self.line(f"{target} = {self._struct(field.of)}")
            return
        marker = self.fresh("present")
        self._run.append(("b", marker))
        self._flush()
        with self.block(f"if {marker} < 0:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            nested = self._struct(field.of)
            self._flush()
            self.line(f"{target} = {nested}")

    def _length(self, code: str) -> str:
        """Reads a length or count into a variable, which is -1 for null in the old and in the compact form."""
        length = self.fresh("n")
        self._run.append(("B" if self._flexible else code, length))
        self._flush()
        if self._flexible:
            self._long_uvarint(length)
            self.line(f"{length} -= 1")
        return length

    def _long_uvarint(self, variable: str) -> None:
        with self.block(f"if {variable} > 127:"):
            self.line(f"{variable}, pos = rest_of_uvarint(buf, pos, {variable})")

    def _null(self, field: Field, target: str, length: str) -> None:
        """The branch for lengths below zero, to stand after `if length >= 0`."""
        if self._version in field.nullable:
            with self.block(f"elif {length} == -1:"):
                self.line(f"{target} = None")
            if self._flexible:
                return
        with self.block("else:"):
            self._refuse(f"{field.kind} {field.name} has a null or negative length where none is allowed")

    def _slice(self, field: Field, target: str) -> None:
        length = self._length("h" if field.kind == "string" else "i")
        cut = f"buf[pos:pos + {length}]"
        if field.kind == "string":
            cut = f"str({cut}, 'utf-8')" if self._sliced else f"{cut}.decode()"
        elif field.kind == "bytes" and self._sliced:
            cut = f"bytes({cut})"
        with self.block(f"if {length} >= 0:"):
            self.line(f"{target} = {cut}; pos += {length}")
        self._null(field, target, length)

    def _array(self, field: Field, target: str) -> None:
        count = self._length("i")
        element: Field = field.of
        smallest = max(1, size_min(element, self._version, self._flexible))
        with self.block(f"if {count} >= 0:"):
            with self.block(f"if {count} * {smallest} > limit - pos:"):
                self._refuse(f"array {field.name} counts more elements than its bytes can hold")
            if self._is_bounded:
                self.line(f"room -= {count}")
                with self.block("if room < 0:"):
                    self._refuse(f"more than {ELEMENTS_MAX} elements in one request")
            if element.kind == "fixed":
                self._fixed_array(element, target, count)
            else:
                self._loop(element, target, count)
        self._null(field, target, count)

    def _fixed_array(self, element: Field, target: str, count: str) -> None:
        if element.code == "16s":
            self.line(f"{target} = [bytes(buf[at:at + 16]) for at in range(pos, pos + {count} * 16, 16)]")
        else:
            slow = f"unpack_from(f'>{{{count}}}{element.code}', buf, pos)"
            fast = f"UNPACK_INT32S[{count}](buf, pos) if {count} < {SHORT} else "
            self.line(f"{target} = [*({fast if element.code == 'i' else ''}{slow})]")
        self.line(f"pos += {count} * {calcsize('>' + element.code)}")

    def _loop(self, element: Field, target: str, count: str) -> None:
        items = self.fresh("items")
        self.line(f"{target} = {items} = []")
        with self.block(f"for _ in range({count}):"):
            value: Any
            if element.kind == "struct":
                value = self._struct(element.of)
            else:
                value = self.fresh("item")
                self._field(element, value)
            self._flush()
            self.line(f"{items}.append({value})")
