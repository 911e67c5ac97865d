"""Writes the encoder of one message at one version as a single flat Python function.

    run(message) -> chunks

Neighbouring fixed-width fields, and the length byte that follows them, are written by one `pack`. Pieces are joined
into one chunk, except that whatever sits in a records field becomes a chunk of its own, untouched: it may be a range
of a file that never enters this process. A field that the version lacks is left out whatever its value.
"""

from collections.abc import Callable
from struct import Struct as Layout
from struct import pack

from headrace.wire.primitives import BYTE, PACK_INT32S, SHORT, uvarint
from headrace.wire.schema import Encoder, Field, Message, StructType, has_records
from headrace.wire.source import Source

_Run = list[tuple[str, str]]


def compile_encoder(cls: type[Message], version: int) -> Encoder:
    if version not in cls.VERSIONS:
        raise ValueError(f"{cls.__name__} has no version {version}")
    source = _EncoderSource(cls, version)
    encoder: Encoder = source.function(f"encode {cls.__name__} v{version}", "message")
    cls.ENCODERS[version] = encoder
    return encoder


class _EncoderSource(Source):
    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(BYTE=BYTE, uvarint=uvarint, join=b"".join, pack=pack, PACK_INT32S=PACK_INT32S)
        self._version = version
        self._flexible = version >= cls.FLEXIBLE
        self._run: _Run = []
        self._write = "write"
        self._wrote = False
        self._chunked = has_records(cls)
        self.line("pieces = []; write = pieces.append")
        if self._chunked:
            self.line("chunks = []")
        self._struct(cls, "message")
        self._finish()

    def _finish(self) -> None:
        if not self._wrote:
            self.line(f"return [{self._packed(self._take_run())}]")
            return
        self._flush()
        if self._chunked:
            self.line("if pieces: chunks.append(join(pieces))")
        self.line("return chunks" if self._chunked else "return [join(pieces)]")

    def _put(self, expression: str) -> None:
        self._wrote = True
        self.line(f"{self._write}({expression})")

    def _take_run(self) -> _Run:
        run, self._run = self._run, []
        return run

    def _packed(self, run: _Run) -> str:
        codes, values = [code for code, _ in run], [value for _, value in run]
        if all(value.isdigit() for value in values):
            return repr(Layout(">" + "".join(codes)).pack(*map(int, values)))
        return f"{self.layout(codes, 'pack')[0]}({', '.join(values)})"

    def _flush(self) -> None:
        if self._run:
            self._put(self._packed(self._take_run()))

    def _flush_with_length(self, length: str, code: str) -> None:
        """Writes the run and the length or count that ends it."""
        if not self._flexible:
            self._run.append((code, length))
            self._flush()
        elif not self._run:
            self._put(f"BYTE[{length}] if {length} < 128 else uvarint({length})")
        else:
            run = self._take_run()
            with self.block(f"if {length} < 128:"):
                self._put(self._packed([*run, ("B", length)]))
            with self.block("else:"):
                self._put(self._packed(run))
                self._put(f"uvarint({length})")

    def _struct(self, cls: StructType, value: str) -> None:
        tagged = []
        for field in cls.FIELDS:
            if self._version in field.tag_versions:
                tagged.append(field)
            elif self._version in field.versions:
                self._field(field, f"{value}.{field.name}")
        if tagged:
            self._tags(tagged, value)
        elif self._flexible:
            self._run.append(("B", "0"))

    def _field(self, field: Field, value: str) -> None:
        if field.kind == "fixed":
            self._run.append((field.code, value))
        elif field.kind == "struct":
            self._nested(field, value)
        elif field.kind == "array":
            self._array(field, value)
        elif field.kind == "records":
            self._records(field, value)
        else:
            self._text_or_bytes(field, value)

    def _length(self, field: Field, value: str, measure: Callable[[str], None]) -> str:
        """Emits the length as the wire has it (compact: one more, 0 for null), with `measure` preparing the value."""
        length = self.fresh("n")
        if self._version not in field.nullable:
            measure(length)
            return length
        with self.block(f"if {value} is None:"):
            self.line(f"{length} = {0 if self._flexible else -1}; {value} = b''")
        with self.block("else:"):
            measure(length)
        return length

    def _sized(self, value: str) -> str:
        return f"len({value}) + 1" if self._flexible else f"len({value})"

    def _text_or_bytes(self, field: Field, value: str) -> None:
        local = self.fresh("value")
        self.line(f"{local} = {value}")
        text = field.kind == "string"

        def measure(length: str) -> None:
            if text:
                self.line(f"{local} = {local}.encode()")
            self.line(f"{length} = {self._sized(local)}")

        length = self._length(field, local, measure)
        self._flush_with_length(length, "h" if text else "i")
        self._put(local)

    def _records(self, field: Field, value: str) -> None:
        local = self.fresh("records")
        self.line(f"{local} = {value}")
        length = self._length(field, local, lambda length: self.line(f"{length} = {self._sized(local)}"))
        self._flush_with_length(length, "i")
        with self.block(f"if {length} > {1 if self._flexible else 0}:"):
            self.line(f"chunks.append(join(pieces)); pieces.clear(); chunks.append({local})")

    def _array(self, field: Field, value: str) -> None:
        items = self.fresh("items")
        self.line(f"{items} = {value}")
        length = self._length(field, items, lambda length: self.line(f"{length} = {self._sized(items)}"))
        self._flush_with_length(length, "i")
        element: Field = field.of
        if element.kind == "fixed":
            self._fixed_array(element, items)
            return
        item = self.fresh("item")
        with self.block(f"for {item} in {items}:"):
            if element.kind == "struct":
                self._struct(element.of, item)
            else:
                self._field(element, item)
            self._flush()

    def _fixed_array(self, element: Field, items: str) -> None:
        slow = f"pack('>' + {element.code!r} * len({items}), *{items})"
        fast = f"PACK_INT32S[len({items})](*{items}) if len({items}) < {SHORT} else "
        self._put(f"{fast if element.code == 'i' else ''}{slow}")

    def _nested(self, field: Field, value: str) -> None:
        local = self.fresh("struct")
        self.line(f"{local} = {value}")
        if self._version not in field.nullable:
            self._struct(field.of, local)
            return
        run = self._take_run()
        with self.block(f"if {local} is None:"):
            self._put(self._packed([*run, ("b", "-1")]))
        with self.block("else:"):
            self._run = [*run, ("b", "1")]
            self._struct(field.of, local)
            self._flush()

    def _tags(self, tagged: list[Field], value: str) -> None:
        """Almost no message carries a tag, so the empty section rides on the run before it."""
        run = self._take_run()
        present = [self._differs(field, f"{value}.{field.name}") for field in tagged]
        with self.block(f"if {' or '.join(present)}:"):
            self._run = [*run]
            self._flush()
            self._put(f"BYTE[{' + '.join(f'({test})' for test in present)}]")
            for field, test in sorted(zip(tagged, present, strict=True), key=lambda pair: pair[0].tag or 0):
                with self.block(f"if {test}:"):
                    self._tag(field, f"{value}.{field.name}")
        with self.block("else:"):
            self._put(self._packed([*run, ("B", "0")]))

    def _differs(self, field: Field, value: str) -> str:
        """Kafka leaves a tagged field out when it has its default."""
        if field.kind == "struct":
            default = self.constant(f"default_{field.of.__name__}", field.of())
            return f"({value} is not None and {value} != {default})"
        if field.default is None:
            return f"({value} is not None)"
        return f"({value} != {self.constant(f'default_{field.name}', field.default)})"

    def _tag(self, field: Field, value: str) -> None:
        body, outer = self.fresh("body"), self._write
        self._write = self.fresh("write")
        self.line(f"{body} = []; {self._write} = {body}.append")
        self._field(field, value)
        self._flush()
        self._write = outer
        self.line(f"{body} = join({body})")
        self._put(f"BYTE[{field.tag}]")
        self._put(f"uvarint(len({body}))")
        self._put(body)
