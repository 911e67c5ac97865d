import json

import pytest

from headrace.base.errors import UserError
from headrace.cli.run.new_options import NewOptions
from headrace.cli.run.secret_settings import VARIABLE
from headrace.cli.run.serve_options import ServeOptions, parse_arguments
from headrace.cli.up.child import ServeChild

SECRET = "do-not-show-me"
NAME = "listener.name.clients.ssl.key.password"


def test_a_secret_goes_by_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    child = ServeChild(ServeOptions(settings={NAME: SECRET, "num.partitions": "3"}))
    words = child.command_with(3, 4)
    environment = child.environment()
    assert SECRET not in " ".join(words)
    assert environment is not None
    monkeypatch.setenv(VARIABLE, environment[VARIABLE])
    assert parse_arguments(words[words.index("serve") + 1 :]).settings == {NAME: SECRET, "num.partitions": "3"}


def test_without_secrets_nothing_is_added() -> None:
    assert ServeChild(ServeOptions(settings={"num.partitions": "3"})).environment() is None


def test_settings_of_its_own_stay_with_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    child = ServeChild(ServeOptions(settings={"num.partitions": "3"}), {"broker.rack": "a"})
    child.change(NewOptions({"num.partitions": "4"}, "info"))
    assert child.options.settings == {"num.partitions": "4", "broker.rack": "a"}


def test_a_secret_on_the_command_line_is_refused_without_showing_it() -> None:
    with pytest.raises(UserError) as refused:
        parse_arguments(["--set", f"ssl.key.password={SECRET}"])
    assert SECRET not in str(refused.value)
    assert "--config" in refused.value.fix


@pytest.mark.parametrize("text", ["[1]", "no json", json.dumps(SECRET)])
def test_a_variable_that_is_no_object(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(UserError, match=f"{VARIABLE} is no JSON object"):
        parse_arguments([])
