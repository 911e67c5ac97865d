"""The table of APIs says exactly what the protocol research asked for, and error codes are Kafka's."""

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import api_key_map

from headrace.wire.apis import APIS, APIS_BY_NAME
from headrace.wire.codes import ErrorCode

VERSIONS = """
0:3-13 1:4-18 2:1-11 3:0-13 8:2-10 9:1-10 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-6 16:0-5 17:0-1 18:0-4 19:2-7 20:1-6
21:0-2 22:0-5 23:2-4 24:0-5 25:0-4 26:0-5 27:1-2 28:0-5 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 34:1-2 35:1-5 36:0-2 37:0-3
38:1-3 39:1-2 40:1-2 41:1-3 42:0-2 43:0-2 44:0-1 45:0-1 46:0-0 47:0-0 48:0-1 49:0-1 50:0-0 51:0-0 55:0-2 57:0-2 60:0-2
61:0-0 64:0-0 65:0-0 66:0-2 68:0-1 69:0-1 74:0-1 75:0-0
"""

FIRST_FLEXIBLE = """
0:9 1:12 2:6 3:9 8:8 9:6 10:3 11:6 12:4 13:4 14:4 15:5 16:3 18:3 19:5 20:4 21:2 22:2 23:4 24:3 25:3 26:3 27:1 28:3
29:2 30:2 31:2 32:4 33:2 34:2 35:2 36:2 37:2 38:2 39:2 40:2 41:2 42:2 43:2 44:1 45:0 46:0 48:1 49:1
"""
NEVER_FLEXIBLE = {17, 47}


def test_versions():
    assert [f"{key}:{api.min_version}-{api.max_version}" for key, api in APIS.items()] == VERSIONS.split()


def test_first_flexible_versions():
    expected = {int(key): int(first) for key, _, first in (word.partition(":") for word in FIRST_FLEXIBLE.split())}
    for key, api in APIS.items():
        if key in NEVER_FLEXIBLE:
            assert api.first_flexible > api.max_version
        else:
            assert api.first_flexible == expected.get(key, 0), api.name


def test_names_and_classes():
    for key, api in APIS.items():
        assert api.name.lower() == api_key_map[key].replace("_", "")
        assert APIS_BY_NAME[api.name] is api
        assert (api.request.__name__, api.response.__name__) == (f"{api.name}Request", f"{api.name}Response")


def test_error_codes_are_kafkas():
    assert {code.value: (code.name.lower(), code.retriable) for code in ErrorCode} == {
        code.value: (code.name, code.retriable) for code in KioErrorCode
    }
    assert all(code.message.endswith(".") for code in ErrorCode)
