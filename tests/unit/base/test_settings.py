import pytest

from headrace.base.settings import Kind, Setting, SettingError, UnknownSetting, render

WHOLE = Setting("segment.bytes", Kind.INT, 5, "", low=1, high=9, also=(-1,))


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (WHOLE, " 7 ", 7),
        (WHOLE, "-1", -1),
        (Setting("a", Kind.BOOLEAN, False, ""), "TRUE", True),
        (Setting("a", Kind.DOUBLE, 0.5, "", low=0, high=1), "0.25", 0.25),
        (Setting("a", Kind.LIST, (), "", choices=("x", "y")), "y, x,y", ("y", "x")),
        (Setting("a", Kind.LIST, (), ""), "", ()),
        (Setting("a", Kind.STRING, None, "", choices=("x", "y")), "x", "x"),
        (Setting("a", Kind.LONG, 0, ""), str(2**63 - 1), 2**63 - 1),
    ],
)
def test_a_value_inside_the_bounds_is_parsed(setting: Setting, text: str, value: object) -> None:
    assert setting.parse(text) == value
    assert setting.parse(render(setting.parse(text)) or "") == value


@pytest.mark.parametrize("text", ["0", "10", "-2", "", "1.0", "1e3", "1_0", "٣", "x", "9" * 5000, "+", "--1"])
def test_a_number_outside_is_refused_with_its_bounds(text: str) -> None:
    with pytest.raises(SettingError) as refused:
        WHOLE.parse(text)
    assert "segment.bytes" in str(refused.value)
    assert "a whole number from 1 to 9, or -1" in str(refused.value)
    assert (refused.value.name, refused.value.text) == ("segment.bytes", text.strip() if text else text)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (Setting("a", Kind.BOOLEAN, False, ""), "yes"),
        (Setting("a", Kind.BOOLEAN, False, "", choices=("false",)), "true"),
        (Setting("a", Kind.DOUBLE, 0.5, "", low=0, high=1), "nan"),
        (Setting("a", Kind.DOUBLE, 0.5, "", low=0, high=1), "1.1"),
        (Setting("a", Kind.LIST, (), "", choices=("x",)), "x,z"),
        (Setting("a", Kind.LIST, (), "", words="[0-9]+:[0-9]+"), "0:1,2"),
        (Setting("a", Kind.STRING, None, "", choices=("x",)), "X"),
        (Setting("a", Kind.INT, 0, ""), str(2**31)),
        (Setting("a", Kind.LONG, 0, ""), str(2**63)),
    ],
)
def test_other_kinds_refuse_what_they_do_not_take(setting: Setting, text: str) -> None:
    with pytest.raises(SettingError):
        setting.parse(text)


def test_a_secret_is_never_in_a_message() -> None:
    secret = Setting("ssl.key.password", Kind.PASSWORD, None, "", choices=("a",))
    with pytest.raises(SettingError) as refused:
        secret.parse("hunter2")
    assert "hunter2" not in str(refused.value)
    assert secret.sensitive


def test_an_unknown_name_offers_the_nearest() -> None:
    error = UnknownSetting("num.partition", {"num.partitions": 1, "log.dir": 1})
    assert str(error) == "there is no setting num.partition. Did you mean num.partitions?"
    assert str(UnknownSetting("zzz", {"num.partitions": 1})) == "there is no setting zzz."
