"""`headrace plan` as it is typed."""

MILLION = ("plan", "--rate", "1M/s", "--size", "1KB", "--rf", "3", "--retention", "7d")


def test_a_million_a_second(offline_cli) -> None:
    ran = offline_cli(*MILLION)
    assert ran.code == 0, ran.err
    for words in ("1 GB/s", "3 GB/s", "86.4 TB", "605 TB", "1 M messages/s × 1 KB", "docs/bench.md"):
        assert words in ran.text


def test_as_json_with_prices(offline_cli) -> None:
    planned = offline_cli(*MILLION, "--broker-price", "80", "--tb-price", "20", "--json").json
    values = {line["name"]: line["value"] for line in planned["lines"]}
    assert (values["in"], values["inside"], values["a day"]) == (1e9, 3e9, 86.4e12)
    assert planned["growth"][0]["monthly_cost"] == values["a month costs"]


def test_what_cannot_be_read_is_named(offline_cli) -> None:
    ran = offline_cli("plan", "--size", "big")
    assert ran.code == 2
    assert "--size: 'big' is not a size such as 1KB" in ran.err
