"""Messages by command line, in and out again: text, keys, headers, nulls, binary, places to start, refusals."""

import contextlib
import json
import os
import signal
import subprocess
import sys

from eventually import until

FORMAT = r"%p %o [%k] [%v] %h %K %S\n"


def test_lines_with_keys_headers_and_nulls(cli, topic) -> None:
    lines = "k1\tv1\nk2\tNULL\nno key\n\nü\tñ\n".encode()
    sent = cli("produce", topic, "-K", r"\t", "--null-value", "NULL", "-H", "a=1", "-H", "b=", stdin=lines)
    assert sent.code == 0, sent.err
    assert "sent 5 messages" in sent.err
    read = cli("consume", topic, "--format", FORMAT, "--null-value", "~")
    assert read.text.splitlines() == [
        "0 0 [k1] [v1] a=1,b= 2 2",
        "0 1 [k2] [~] a=1,b= 2 -1",
        "0 2 [~] [no key] a=1,b= -1 6",
        "0 3 [~] [] a=1,b= -1 0",
        "0 4 [ü] [ñ] a=1,b= 2 2",
    ]


def test_json_survives_the_round_trip(cli, new_topic) -> None:
    source, copy = new_topic(2), new_topic(2)
    lines = [
        {"key": "k", "value": "v", "partition": 1, "timestamp": 1_700_000_000_123},
        {"key_base64": "//4=", "value_base64": "AP8=", "partition": 0, "timestamp": 1_700_000_000_456},
        {"key": None, "value": None, "partition": 1, "timestamp": 5_000, "headers": [{"name": "n", "value": None}]},
    ]
    stdin = "\n".join(map(json.dumps, lines)).encode()
    assert (
        cli(
            "produce",
            source,
            "--json-lines",
            stdin=stdin,
        ).code
        == 0
    )
    first = cli("consume", source, "--json")
    sent = cli("produce", copy, "--json-lines", "--json", "--compression", "zstd", stdin=first.out)
    assert (sent.json["sent"], sent.json["failed"]) == (3, 0)
    second = cli("consume", copy, "--json")

    def by_place(ran):
        return sorted(
            ({**line, "topic": ""} for line in ran.json_lines), key=lambda line: (line["partition"], line["offset"])
        )

    assert by_place(first) == by_place(second)
    assert by_place(first)[0]["value_base64"] == "AP8="
    assert by_place(first)[1]["timestamp"] == 1_700_000_000_123
    assert by_place(first)[2]["headers"] == [{"name": "n", "value": None}]


def test_files_and_whole_files(cli, topic, tmp_path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1\n2\n")
    two.write_bytes(b"\xff\x00\n3")
    assert cli("produce", topic, "-f", str(one), "-f", str(two)).code == 0
    assert cli("produce", topic, "-f", str(two), "--whole").code == 0
    assert cli("consume", topic, "--format", "<%v>").out == b"<1><2><\xff\x00><3><\xff\x00\n3>"


def test_places_to_start_and_stop(cli, topic) -> None:
    lines = [json.dumps({"value": f"m{n}", "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(10)]
    assert cli("produce", topic, "--json-lines", stdin="\n".join(lines).encode()).code == 0

    def values(*words):
        ran = cli("consume", topic, *words)
        assert ran.code == 0, ran.err
        return ran.text.split()

    assert values() == [f"m{n}" for n in range(10)]
    assert values("--from", "7", "-p", "0") == ["m7", "m8", "m9"]
    assert values("--from", "-2") == ["m8", "m9"]
    assert values("--from", "-200", "-n", "1") == ["m0"]
    assert values("--from", "@1700000008000") == ["m8", "m9"]
    assert values("--from", "@2023-11-14T22:13:28.500Z") == ["m9"]
    assert values("--from", "@2099-01-01T00:00:00Z") == []
    assert values("--from", "latest", "--until-end") == []
    assert values("-n", "3") == ["m0", "m1", "m2"]


def test_an_empty_topic_ends_at_once(cli, topic) -> None:
    ran = cli("consume", topic)
    assert (ran.code, ran.out) == (0, b"")


@contextlib.contextmanager
def following(bootstrap, topic, *words):
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "consume", topic, *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "HEADRACE_BOOTSTRAP": bootstrap},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_follow_shows_what_comes_later(cli, bootstrap, topic) -> None:
    cli("produce", topic, stdin=b"before\n")
    with following(bootstrap, topic, "--follow") as process:
        assert process.stdout.readline() == b"before\n"
        cli("produce", topic, stdin=b"after\n")
        assert process.stdout.readline() == b"after\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_count_ends_a_follow(cli, bootstrap, topic) -> None:
    with following(bootstrap, topic, "--from", "latest", "-n", "1") as process:
        # Nobody tells when the reader has found its place, so send until it has seen one.
        until(lambda: cli("produce", topic, stdin=b"x\n") and process.poll() is not None, seconds=90)
        assert process.returncode == 0
        assert process.stdout.read() == b"x\n"


def test_refusals_of_produce_and_consume(cli, topic, new_name, tmp_path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 2_000_000)
    cases = [
        (["consume", new_name()], 3, "topic create"),
        (["consume", topic, "-p", "9"], 3, "no partition 9"),
        (["consume", topic, "-p", "0", "--from", "99"], 3, "offset 99"),
        (["consume", topic, "--from", "5"], 2, "--partition"),
        (["consume", topic, "--from", "sometime"], 2, "earliest"),
        (["consume", topic, "--format", "%q"], 2, "%q"),
        (["consume", topic, "--bootstrap", "127.0.0.1:1"], 5, "headrace up"),
        (["produce", topic, "--acks", "2"], 2, "--acks"),
        (["produce", topic, "--compression", "rar"], 2, "--compression"),
        (["produce", topic, "-f", "/does/not/exist"], 3, "no such file"),
        (["produce", topic, "-f", str(large)], 4, "max.message.bytes"),
        # librdkafka tells a refused name as refused or, when it has asked twice by then, as unknown.
        (["produce", "bad name"], (3, 4), "not delivered"),
        (["produce", topic, "-p", "9"], 3, "not delivered"),
        (["produce", topic, "--json-lines"], 2, "no message in JSON"),
    ]
    for words, code, cause in cases:
        ran = cli(*words, "--json", stdin=b"line\n")
        assert ran.code in (code if isinstance(code, tuple) else (code,)), (words, ran)
        assert cause in ran.err, (words, ran)
        assert set(json.loads(ran.err)) == {"error", "fix"}


def test_a_closed_pipe_is_no_error(bootstrap, cli, topic) -> None:
    cli("produce", topic, stdin=b"line\n" * 50_000)
    environment = {**os.environ, "HEADRACE_BOOTSTRAP": bootstrap}
    reader = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "consume", topic],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert reader.stdout.readline() == b"line\n"
    reader.stdout.close()
    assert reader.stderr.read() == b""
    assert reader.wait(30) == 0
    reader.stderr.close()
