"""Distinguished names become principals by rules: the first that fits the whole name, or none at all."""

import pytest

from headrace.base.errors import UserError
from headrace.security.principals import parse_rules, user_of

NAME = "CN=App-1,OU=Data,O=Example,C=DE"


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("", NAME),
        ("DEFAULT", NAME),
        ("RULE:^CN=([^,]+),.*$/$1/", "App-1"),
        ("RULE:^CN=([^,]+),.*$/$1/L", "app-1"),
        ("RULE:^CN=([^,]+),.*$/$1@$1/U", "APP-1@APP-1"),
        (r"RULE:^CN=(\w+)-(\d+),.*$/$2.$1/", "1.App"),
        ("RULE:^OU=.*$/x/, RULE:^CN=(.*?),.*$/$1/L, DEFAULT", "app-1"),
        ("RULE:^OU=.*$/x/,DEFAULT", NAME),
    ],
)
def test_the_first_rule_that_fits_counts(rules: str, user: str) -> None:
    assert user_of(NAME, parse_rules(rules)) == user


@pytest.mark.parametrize(
    "rules",
    [
        "RULE:CN=App-1/admin/",
        "RULE:^CN=(App)/$1/",
        "RULE:App-1,OU=Data,O=Example,C=DE/admin/",
        "RULE:^CN=(.*)X$/$1/",
        "RULE:^.*$//",
    ],
)
def test_a_name_that_no_rule_fits_whole_has_no_principal(rules: str) -> None:
    assert user_of(NAME, parse_rules(rules)) is None


@pytest.mark.parametrize(
    "rules", ["RULE", "RULE:x", "RULE:x/y", "default", "RULE:(/x/", "RULE:a/$1/", "DEFAULT;DEFAULT", "RULE:a/b/X"]
)
def test_what_is_no_rule_is_told(rules: str) -> None:
    with pytest.raises(UserError, match=r"ssl\.principal\.mapping\.rules: .* is no rule"):
        parse_rules(rules)
