"""A broker's settings in force, with the source of each value: DescribeConfigs' sources and synonyms.

    dynamic for this broker  >  dynamic for all brokers  >  given at start (`--set`)  >  declared default

Immutable: a dynamic change makes a new `BrokerConfig`. Values given at start are checked here and refused; dynamic ones
were checked when they were altered, so one that no longer parses was written by another version and is passed over.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from headrace.base.settings import Setting, SettingError, Value, render
from headrace.cluster.broker_settings import BROKER_SETTINGS, broker_setting
from headrace.cluster.kafka_settings import unknown_broker_setting
from headrace.cluster.listener_settings import PREFIX, unprefixed
from headrace.cluster.topic_settings import Synonym

_NOTHING: Mapping[str, str] = {}


class Source(IntEnum):
    """The places a value can come from, numbered as DescribeConfigs numbers them."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class Found(NamedTuple):
    """A place that sets a setting: an entry of DescribeConfigs' synonyms."""

    name: str
    text: str | None
    source: Source


class Effective(NamedTuple):
    """The value of a setting in force, with every place that sets it, the one in force first."""

    setting: Setting
    value: Value
    synonyms: tuple[Found, ...]

    @property
    def text(self) -> str | None:
        return None if self.setting.sensitive else render(self.value)

    @property
    def source(self) -> Source:
        return self.synonyms[0].source


class BrokerConfig:
    __slots__ = ("_layers", "_values", "dynamic", "dynamic_default", "static")

    def __init__(
        self,
        static: Mapping[str, str] = _NOTHING,
        dynamic: Mapping[str, str] = _NOTHING,
        dynamic_default: Mapping[str, str] = _NOTHING,
    ) -> None:
        for name, text in static.items():
            parse_broker_setting(name, text)
        self.static = static
        self.dynamic = dynamic
        self.dynamic_default = dynamic_default
        self._layers = (
            (Source.DYNAMIC_BROKER, dynamic),
            (Source.DYNAMIC_DEFAULT_BROKER, dynamic_default),
            (Source.STATIC_BROKER, static),
        )
        self._values: dict[str, Value] = {}

    def with_dynamic(self, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str]) -> "BrokerConfig":
        return BrokerConfig(self.static, dynamic, dynamic_default)

    def value(self, name: str) -> Value:
        try:
            return self._values[name]
        except KeyError:
            value = self._values[name] = self._resolve(_declared(name))
            return value

    def of_listener(self, listener: str, name: str) -> Value:
        """The value for one listener: its own, or that of all. The name may begin with a SASL mechanism."""
        own = f"{PREFIX}{listener.lower()}.{name}"
        return self.value(own if any(self.found(own)) else unprefixed(own))

    def number(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int), f"{name} is {value!r}, not a whole number"
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name)
        assert isinstance(value, bool), f"{name} is {value!r}, not true or false"
        return value

    def string(self, name: str) -> str | None:
        value = self.value(name)
        assert value is None or isinstance(value, str), f"{name} is {value!r}, not text"
        return value

    def _resolve(self, setting: Setting) -> Value:
        for found in self.found(setting.name):
            assert found.text is not None
            return setting.parse(found.text)
        return setting.default

    def found(self, name: str) -> Iterable[Found]:
        """The places that set a setting, the one in force first; without the declared default."""
        setting = _declared(name)
        for source, layer in self._layers:
            text = layer.get(name)
            if text is not None and self._counts(setting, text, source):
                yield Found(name, text, source)

    def found_synonyms(self, synonyms: Iterable[Synonym]) -> Iterable[tuple[Synonym, Found]]:
        """The places that set a topic setting's synonyms, as `found`; in each place the finer unit first."""
        for source, layer in self._layers:
            for synonym in synonyms:
                text = layer.get(synonym.name)
                if text is not None and self._counts(BROKER_SETTINGS[synonym.name], text, source):
                    yield synonym, Found(synonym.name, text, source)

    def _counts(self, setting: Setting, text: str, source: Source) -> bool:
        if source is Source.STATIC_BROKER:
            return True
        return setting.dynamic and parses(setting, text)

    def effective(self) -> dict[str, Effective]:
        return {name: self._effective(setting) for name, setting in {**BROKER_SETTINGS, **self._of_listeners()}.items()}

    def _of_listeners(self) -> dict[str, Setting]:
        """The settings that are given for one listener."""
        given = sorted({name for _, layer in self._layers for name in layer if name.startswith(PREFIX)})
        return {name: setting for name in given if (setting := broker_setting(name)) is not None}

    def _effective(self, setting: Setting) -> Effective:
        found = [each._replace(text=None) if setting.sensitive else each for each in self.found(setting.name)]
        default = Found(setting.name, render(setting.default), Source.DEFAULT)
        return Effective(setting, self.value(setting.name), (*found, default))


def _declared(name: str) -> Setting:
    setting = broker_setting(name)
    if setting is None:
        raise KeyError(name)
    return setting


def parse_broker_setting(name: str, text: str) -> Value:
    setting = broker_setting(name)
    if setting is None:
        raise unknown_broker_setting(name)
    return setting.parse(text)


def parses(setting: Setting, text: str) -> bool:
    try:
        setting.parse(text)
    except SettingError:
        return False
    return True
