"""What the UI's pages say, without a browser: numbers, payloads, searches, the state of topics."""

import pytest

from headrace.admin.survey import BrokerSeen, PartitionSeen, ReplicaSeen, Survey
from headrace.base.ids import TopicPartition
from headrace.gateway.ui import payload, words
from headrace.gateway.ui.grid import matching
from headrace.gateway.ui.jobs import MARK
from headrace.gateway.ui.message_views import parse_headers
from headrace.gateway.ui.reading import matches
from headrace.gateway.ui.shell import PLACES, health
from headrace.gateway.ui.topic_view import topics_of
from headrace.spark.source.group_progress import PROGRESS, START
from headrace.wire.records import Record


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1 KB"),
        (1_250_000, "1.25 MB"),
        (12e15, "12 PB"),
        (5e18, "5 EB"),
        (5e21, "5,000 EB"),
    ],
)
def test_sizes(count: float | None, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [(None, "–"), (0, "0/s"), (12.34, "12.3/s"), (999.9, "1k/s"), (2.5e6, "2.5M/s"), (4e12, "4T/s")],
)
def test_rates(per_second: float | None, text: str) -> None:
    assert words.rate(per_second) == text


def test_counts_are_exact_and_nouns_agree() -> None:
    assert words.count(1_234_567) == "1\u202f234\u202f567"
    assert [words.of(number, "partition") for number in (0, 1, 2)] == ["0 partitions", "1 partition", "2 partitions"]


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        (b'{"a": 1}', "json"),
        (b"[1]", "json"),
        (b"{no", "text"),
        (b"plain", "text"),
        (b"\xff\x00", "hex"),
        (b"\x01", "hex"),
    ],
)
def test_the_natural_form_of_bytes(raw: bytes, form: str) -> None:
    assert payload.natural_form(raw) == form


def test_json_nested_too_deep_is_text() -> None:
    deep = b"[" * 200_000
    assert payload.shown(deep, "json") == deep.decode()


def test_bytes_as_hex() -> None:
    assert payload.hex_dump(b"ab\x00" + bytes(range(14))) == (
        "00000000  61 62 00 00 01 02 03 04 05 06 07 08 09 0a 0b 0c  ab..............\n"
        "00000010  0d                                               ."
    )
    assert payload.hex_dump(bytes(payload.HEX_BYTES_MAX + 7)).endswith("… 7 more bytes")


def test_a_preview_is_one_short_line() -> None:
    assert payload.preview(None) == "null"
    assert payload.preview(b"a\n\tb  c") == "a b c"
    assert payload.preview("é".encode() * 5000) == "é" * payload.PREVIEW_CHARACTERS + "…"
    assert len(payload.preview(b"\xff" * 5000)) == payload.PREVIEW_CHARACTERS + 1


def test_a_search_looks_into_key_value_and_headers() -> None:
    record = Record(key=b"Customer-1", value=b'{"a": "Z\xc3\xbcrich"}', headers=[("Trace", b"abc"), ("empty", None)])
    assert all(matches(record, text) for text in ("customer", "zürich", "trace", "ABC", "empty", ""))
    assert not matches(record, "nothing")


def test_names_match_by_all_their_words() -> None:
    names = ["shop.orders", "shop.stock", "Orders.EU"]
    assert matching(names, "orders", str) == ["shop.orders", "Orders.EU"]
    assert matching(names, "sh ord", str) == ["shop.orders"]
    assert matching(names, "  ", str) == names


def test_headers_are_lines() -> None:
    assert parse_headers("trace: abc\n\nempty:\nurl: http://x") == [
        ("trace", b"abc"),
        ("empty", b""),
        ("url", b"http://x"),
    ]
    assert parse_headers(" \n") is None


def _survey(*partitions: PartitionSeen, dead: int | None = None) -> Survey:
    brokers = {id: BrokerSeen(id, "127.0.0.1", 9091 + id, None, id != dead) for id in (1, 2)}
    return Survey("cluster", 1, brokers, {each.id: each for each in partitions})


def _partition(index: int, size: int, leader: int | None = 1, isr: tuple[int, ...] = (1, 2)) -> PartitionSeen:
    held = {1: ReplicaSeen(size, 0), 2: ReplicaSeen(size, 0)}
    return PartitionSeen(TopicPartition("orders", index), leader, (1, 2), isr, held=held)


def test_a_topic_is_its_partitions_together() -> None:
    (topic,) = topics_of(_survey(_partition(0, 300), _partition(1, 100, isr=(1,)))).values()
    assert (topic.size_bytes, topic.stored_bytes, topic.skew, topic.behind, topic.leaderless) == (400, 800, 1.5, 1, 0)


def test_an_empty_topic_is_even() -> None:
    (topic,) = topics_of(_survey(_partition(0, 0))).values()
    assert topic.skew == 1.0


def test_health_is_the_worst_that_is_true() -> None:
    well, behind, lost = _partition(0, 1), _partition(1, 1, isr=(1,)), _partition(2, 1, leader=None)
    assert health(_survey(well)) == ("2 brokers, all well", "good")
    assert health(_survey(well, behind)) == ("1 partition behind", "warn")
    assert health(_survey(well, behind, dead=2)) == ("Broker 2 is down", "bad")
    assert health(_survey(well, behind, lost, dead=2)) == ("1 partition without leader", "bad")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/", "Overview"),
        ("/ui/topics", "Topics"),
        ("/ui/topics/x", "Topics"),
        ("/ui/group?name=%2F", "Groups"),
        ("/docs", "API"),
        ("/ui/no", ""),
    ],
)
def test_a_path_belongs_to_one_place(path: str, place: str) -> None:
    assert [each.name for each in PLACES if each.holds(path)] == ([place] if place else [])


def test_what_queries_commit_is_known_by_its_mark() -> None:
    assert START.startswith(MARK)
    assert PROGRESS.startswith(MARK)
