"""The principal of a client's certificate: rules that turn a distinguished name into a user.

    DEFAULT                            the whole name, `User:CN=app,OU=data,O=Example`
    RULE:^CN=([^,]+),.*$/$1/L          the part in the first group, in lower case

The first rule whose pattern matches the whole name counts. A name that no rule matches has no principal: the connection is
refused, it is not that of nobody.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.base.errors import UserError

SETTING: Final = "ssl.principal.mapping.rules"
# A slash in pattern or replacement would end it; Kafka has the same.
_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)", re.DOTALL)
_GROUP: Final = re.compile(r"\$(\d+)")


class NameRule(NamedTuple):
    """`pattern` None stands for DEFAULT."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    letters: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        found = self.pattern.fullmatch(name)
        if found is None:
            return None
        user = _GROUP.sub(lambda each: found[int(each[1])] or "", self.replacement)
        return {"L": user.lower, "U": user.upper}.get(self.letters, lambda: user)()


def parse_rules(text: str) -> tuple[NameRule, ...]:
    """The rules in a setting, or a UserError that shows the first that is none."""
    rules = []
    position = 0
    text = text.strip() or "DEFAULT"
    while position < len(text):
        found = _RULE.match(text, position)
        if found is None:
            raise _bad(text[position:], "write DEFAULT or RULE:pattern/replacement/[LU], separated by commas")
        rules.append(NameRule(None) if found[1] else _rule(found[0].strip(" ,"), found[2], found[3], found[4]))
        position = found.end()
    return tuple(rules)


def _rule(text: str, pattern: str, replacement: str, letters: str) -> NameRule:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise _bad(text, f"its pattern is no regular expression: {error}") from error
    missing = [each for each in _GROUP.findall(replacement) if int(each) > compiled.groups]
    if missing:
        raise _bad(text, f"its pattern has no group {missing[0]}")
    return NameRule(compiled, replacement, letters)


def _bad(text: str, why: str) -> UserError:
    return UserError(f"{SETTING}: {text!r} is no rule", f"{why[:1].upper()}{why[1:]}.")


def user_of(name: str, rules: Sequence[NameRule]) -> str | None:
    """The user for a distinguished name; None if no rule has one."""
    for rule in rules:
        user = rule.apply(name)
        if user is not None:
            return user or None
    return None
