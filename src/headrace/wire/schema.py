"""The language in which messages are declared: one class per message, for all its versions.

A class body lists the fields in wire order, each with the versions that carry it:

    class FetchTopic(Struct):
        topic: str = string(versions="4-12")
        topic_id: bytes = uuid(versions="13+")

The class is an ordinary slotted class with one attribute per field of any version; a field that a version lacks
holds its default after decoding and is left out by encoding. Nothing here knows how bytes look: `compile_decode`
and `compile_encode` do.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal, dataclass_transform

VERSION_MAX = 32767
ZERO_UUID = bytes(16)

Kind = Literal["fixed", "string", "bytes", "records", "array", "struct"]
Decoder = Callable[[Any, int, int], Any]
Encoder = Callable[[Any], list[Any]]


@cache
def version_range(text: str) -> range:
    """ "3-12", "13+" or "0" as a range of versions."""
    if text.endswith("+"):
        return range(int(text[:-1]), VERSION_MAX + 1)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


class Field:
    """One declared field: its wire type, its default, and the versions where it exists, may be null, or is tagged."""

    __slots__ = ("code", "default", "kind", "name", "nullable", "of", "tag", "tag_versions", "versions")

    name: str

    def __init__(
        self,
        kind: Kind,
        default: Any,
        *,
        code: str = "",
        of: Any = None,
        versions: str = "0+",
        nullable: bool | str = False,
        tag: int | None = None,
        tag_versions: str | None = None,
    ) -> None:
        self.kind = kind
        self.default = default
        self.code = code
        self.of = of
        self.versions = version_range(versions)
        self.nullable = version_range(nullable if isinstance(nullable, str) else "0+") if nullable else range(0)
        self.tag = tag
        self.tag_versions = range(0) if tag is None else version_range(tag_versions or versions)

    @property
    def default_is_mutable(self) -> bool:
        return isinstance(self.default, (list, StructType))


# A fixed-width type is named by its code in the `struct` module.
def int8(*, default: int = 0, **where: Any) -> Any:
    return Field("fixed", default, code="b", **where)


def int16(*, default: int = 0, **where: Any) -> Any:
    return Field("fixed", default, code="h", **where)


def uint16(*, default: int = 0, **where: Any) -> Any:
    return Field("fixed", default, code="H", **where)


def int32(*, default: int = 0, **where: Any) -> Any:
    return Field("fixed", default, code="i", **where)


def int64(*, default: int = 0, **where: Any) -> Any:
    return Field("fixed", default, code="q", **where)


def float64(*, default: float = 0.0, **where: Any) -> Any:
    return Field("fixed", default, code="d", **where)


def boolean(*, default: bool = False, **where: Any) -> Any:
    return Field("fixed", default, code="?", **where)


def uuid(**where: Any) -> Any:
    """16 raw bytes; all zero means none, as Kafka has no null id."""
    return Field("fixed", ZERO_UUID, code="16s", **where)


# A field that may be null in all its versions is null unless set; one that may be null in some of them is empty.
def string(*, default: str | None = "", nullable: bool | str = False, **where: Any) -> Any:
    return Field("string", None if nullable is True else default, nullable=nullable, **where)


def binary(*, default: bytes | None = b"", nullable: bool | str = False, **where: Any) -> Any:
    return Field("bytes", None if nullable is True else default, nullable=nullable, **where)


def batches(*, nullable: bool | str = False, **where: Any) -> Any:
    """Record batches: decoded as a slice of the request's own buffer, encoded as a chunk of its own."""
    return Field("records", None, nullable=nullable, **where)


def array(of: Any, *, default: list[Any] | None = [], nullable: bool | str = False, **where: Any) -> Any:  # noqa: B006
    """An array of a Struct class, or of a field type: array(int32)."""
    element: Field = Field("struct", of, of=of) if isinstance(of, StructType) else of()
    element.name = "element"
    return Field("array", None if nullable is True else default, of=element, nullable=nullable, **where)


def struct(of: Any, *, nullable: bool | str = False, **where: Any) -> Any:
    """A single nested Struct. A tagged one is None when absent, whatever defaults Kafka gives its fields."""
    optional = nullable or "tag" in where
    return Field("struct", None if optional else of, of=of, nullable=nullable, **where)


class _Unset:
    """Stands for a default that must be made anew for every instance."""


UNSET = _Unset()


@dataclass_transform()
class StructType(type):
    """Turns the declared fields of a class body into slots.

    `dataclass_transform` names no field specifiers on purpose: a type checker then takes every field as one with a
    default, which is what they are.
    """

    FIELDS: tuple[Field, ...]

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **keywords: Any) -> "StructType":
        fields = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        for key, field in fields.items():
            field.name = key
            del namespace[key]
        namespace |= {"__slots__": tuple(fields), "FIELDS": tuple(fields.values()), "__init__": _compile_init_and_run}
        return super().__new__(mcs, name, bases, namespace, **keywords)


def _compile_init_and_run(self: Any, *values: Any, **named: Any) -> None:
    # Compiling some 250 constructors at import would cost more than all other imports together.
    cls: Any = type(self)
    cls.__init__ = _compile_init(cls)
    cls.__init__(self, *values, **named)


def _compile_init(cls: StructType) -> Any:
    constants: dict[str, Any] = {"UNSET": UNSET}
    parameters, body = ["self"], []
    for field in cls.FIELDS:
        value = field.name
        if field.default_is_mutable:
            constants[f"new_{field.name}"] = field.default if isinstance(field.default, StructType) else list
            value = f"new_{field.name}() if {field.name} is UNSET else {field.name}"
        constants[f"default_{field.name}"] = UNSET if field.default_is_mutable else field.default
        parameters.append(f"{field.name}=default_{field.name}")
        body.append(f" self.{field.name} = {value}")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(body or [" pass"]), constants)
    return constants["__init__"]


class Struct(metaclass=StructType):
    """A part of a message: an array element or a nested value."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in type(self).FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in type(self).FIELDS)
        return f"{type(self).__name__}({values})"


def has_records(struct: StructType) -> bool:
    return any(
        field.kind == "records"
        or (field.kind == "struct" and has_records(field.of))
        or (field.kind == "array" and field.of.kind == "struct" and has_records(field.of.of))
        for field in struct.FIELDS
    )


class Message(Struct):
    """A struct that is encoded and decoded as a whole, at one of `VERSIONS`; from version `FLEXIBLE` on in the compact
    form.
    """

    VERSIONS: ClassVar[range]
    FLEXIBLE: ClassVar[int]
    DECODERS: ClassVar[dict[int, Decoder]]
    ENCODERS: ClassVar[dict[int, Encoder]]

    def __init_subclass__(cls, *, versions: str = "", flexible: int | None = None) -> None:
        if versions:
            cls._declare(version_range(versions), VERSION_MAX + 1 if flexible is None else flexible)

    @classmethod
    def _declare(cls, versions: range, flexible: int) -> None:
        cls.VERSIONS = versions
        cls.FLEXIBLE = flexible
        cls.DECODERS = {}
        cls.ENCODERS = {}


class Request(Message):
    API_KEY: ClassVar[int]

    def __init_subclass__(cls, *, key: int, versions: str, flexible: int | None) -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.API_KEY = key
        REQUESTS[key] = cls


class Response(Message):
    API_KEY: ClassVar[int]

    def __init_subclass__(cls, *, to: type[Request]) -> None:
        super().__init_subclass__()
        cls._declare(to.VERSIONS, to.FLEXIBLE)
        cls.API_KEY = to.API_KEY
        RESPONSES[to.API_KEY] = cls


REQUESTS: dict[int, type[Request]] = {}
RESPONSES: dict[int, type[Response]] = {}
