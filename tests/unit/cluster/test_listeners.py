"""The listeners that settings ask for: names, protocols, addresses, the one for brokers; and what is wrong with others."""

import pytest

from headrace.base.errors import UserError
from headrace.cluster.broker_config import BrokerConfig, Source
from headrace.cluster.entities import Broker, BrokerEndpoint
from headrace.cluster.listeners import ListenerPlan, Url, plan_listeners
from headrace.cluster.records import decode, encode

PAIR = {
    "listeners": "INSIDE://10.0.0.5:9092,outside://:9094",
    "advertised.listeners": "INSIDE://10.0.0.5:9092,OUTSIDE://queue.example.com:19094",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SASL_SSL",
    "inter.broker.listener.name": "inside",
}


def planned(**changed: str | None) -> ListenerPlan:
    """The plan of PAIR, with other values (underscores for dots), or without (None)."""
    settings = {**PAIR, **{name.replace("_", "."): value for name, value in changed.items()}}
    given = {name: value for name, value in settings.items() if value is not None}
    return plan_listeners(BrokerConfig(given), "127.0.0.1", 9092, None)


def test_without_settings_there_is_one_plain_listener_at_host_and_port() -> None:
    plan = plan_listeners(BrokerConfig(), "127.0.0.1", 0, "queue.example.com")
    (only,) = plan.listeners
    assert (only.name, only.protocol, only.host, only.port) == ("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)
    assert only.endpoint(9192) == BrokerEndpoint("PLAINTEXT", "queue.example.com", 9192, "PLAINTEXT")
    assert plan.between_brokers == "PLAINTEXT"
    assert plan.is_plain and not plan.is_apart


def test_an_inside_and_an_outside() -> None:
    plan = planned()
    inside, outside = plan.listeners
    assert inside.endpoint(9092) == BrokerEndpoint("INSIDE", "10.0.0.5", 9092, "PLAINTEXT")
    assert outside.endpoint(9094) == BrokerEndpoint("OUTSIDE", "queue.example.com", 19094, "SASL_SSL")
    assert (outside.name, outside.host, outside.has_tls, outside.has_sasl) == ("OUTSIDE", "", True, True)
    assert plan.for_brokers is inside
    assert plan.is_apart and not plan.is_plain


def test_ipv6_and_port_zero() -> None:
    plan = planned(listeners="SSL://[::1]:0", advertised_listeners=None, inter_broker_listener_name=None)
    assert plan.listeners[0].endpoint(9999) == BrokerEndpoint("SSL", "::1", 9999, "SSL")
    assert plan.between_brokers == "SSL"
    assert str(Url("SSL", "::1", 9999)) == "SSL://[::1]:9999"


def test_one_port_may_have_both_families() -> None:
    both = "INSIDE://127.0.0.1:9092,OUTSIDE://[::1]:9092"
    assert len(planned(listeners=both, advertised_listeners=None).listeners) == 2


@pytest.mark.parametrize(
    ("changed", "cause", "fix"),
    [
        ({"listeners": "INSIDE=10.0.0.5:9092"}, "is not NAME://HOST:PORT", "OUTSIDE://0.0.0.0:9094"),
        ({"listeners": "INSIDE://h:70000"}, "is not NAME://HOST:PORT", "OUTSIDE://0.0.0.0:9094"),
        ({"listeners": "INSIDE://h:1,INSIDE://h:2"}, "listeners has INSIDE twice", "name of its own"),
        ({"listeners": "INSIDE://h:1,OUTSIDE://h:1"}, "listeners has port 1 twice", "port of its own"),
        ({"listeners": "INSIDE://h:1"}, "advertised.listeners has OUTSIDE", "the same ones"),
        ({"listener_security_protocol_map": "INSIDE:SSL"}, "listener OUTSIDE has no protocol", "OUTSIDE:SSL"),
        ({"listener_security_protocol_map": "INSIDE:TLS"}, "listener.security.protocol.map has", "SASL_SSL"),
        ({"advertised_listeners": None}, "cannot connect to listener OUTSIDE", "advertised.listeners"),
        (
            {"advertised_listeners": "INSIDE://10.0.0.5:1,OUTSIDE://0.0.0.0:2"},
            "cannot connect to listener OUTSIDE at '0.0.0.0'",
            "advertised.listeners",
        ),
        ({"inter_broker_listener_name": None}, "a listener PLAINTEXT, which is not advertised", "INSIDE, OUTSIDE"),
        ({"inter_broker_listener_name": "THIRD"}, "a listener THIRD, which is not advertised", "INSIDE, OUTSIDE"),
        ({"security_inter_broker_protocol": "SSL"}, "are both set", "Set one of the two"),
    ],
)
def test_what_is_wrong_is_told_with_its_setting(changed: dict[str, str | None], cause: str, fix: str) -> None:
    with pytest.raises(UserError) as refused:
        planned(**changed)
    assert cause in refused.value.cause
    assert fix in refused.value.fix


def test_an_advertised_host_belongs_to_host_and_port() -> None:
    with pytest.raises(UserError, match="--advertised-host goes with"):
        plan_listeners(BrokerConfig(PAIR), "127.0.0.1", 9092, "queue.example.com")


# -- settings of one listener ----------------------------------------------------------------------------------------------


def test_a_listener_has_its_own_value_or_that_of_all() -> None:
    config = BrokerConfig(
        {
            "ssl.client.auth": "required",
            "listener.name.outside.ssl.client.auth": "none",
            "listener.name.inside.scram-sha-512.sasl.jaas.config": "secret",
        }
    )
    assert config.of_listener("OUTSIDE", "ssl.client.auth") == "none"
    assert config.of_listener("INSIDE", "ssl.client.auth") == "required"
    assert config.of_listener("INSIDE", "scram-sha-512.sasl.jaas.config") == "secret"
    assert config.of_listener("OUTSIDE", "scram-sha-512.sasl.jaas.config") is None
    assert config.of_listener("OUTSIDE", "ssl.enabled.protocols") == ("TLSv1.2", "TLSv1.3")


def test_a_dynamic_value_of_a_listener_counts() -> None:
    name = "listener.name.outside.ssl.keystore.location"
    config = BrokerConfig({"ssl.keystore.location": "a.pem"}).with_dynamic({name: "b.pem"}, {})
    assert config.of_listener("OUTSIDE", "ssl.keystore.location") == "b.pem"
    assert config.effective()[name].source is Source.DYNAMIC_BROKER


@pytest.mark.parametrize("name", ["listener.name.x.num.partitions", "listener.name.x.listeners", "listener.name.x."])
def test_what_is_not_of_a_listener_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"there is no setting {name}"):
        BrokerConfig({name: "1"})


def test_the_value_of_one_listener_is_checked_too() -> None:
    with pytest.raises(UserError, match=r"listener.name.x.ssl.client.auth cannot be 'maybe'"):
        BrokerConfig({"listener.name.x.ssl.client.auth": "maybe"})


def test_no_secret_is_described() -> None:
    secrets = {
        "ssl.key.password": "hush",
        "ssl.keystore.key": "hush",
        "listener.name.x.plain.sasl.jaas.config": "hush",
    }
    effective = BrokerConfig(secrets).effective()
    for name in secrets:
        assert effective[name].text is None
        assert [each.text for each in effective[name].synonyms] == [None] * len(effective[name].synonyms)


# -- registrations ---------------------------------------------------------------------------------------------------------


def test_a_registration_keeps_its_endpoints() -> None:
    endpoints = (BrokerEndpoint("INSIDE", "10.0.0.5", 9092), BrokerEndpoint("OUTSIDE", "q", 19094, "SSL"))
    broker = Broker(1, 5, "10.0.0.5", 9092, endpoints=endpoints)
    assert decode("brokers/1", encode(broker), 0) == broker
    assert broker.endpoint("OUTSIDE") == endpoints[1]
    assert broker.endpoint("PLAINTEXT") is None


def test_a_plain_registration_is_that_of_older_releases() -> None:
    broker = Broker(1, 5, "h", 9092)
    assert b"endpoints" not in encode(broker)
    assert broker.endpoint("PLAINTEXT") == BrokerEndpoint("PLAINTEXT", "h", 9092, "PLAINTEXT")
    assert broker.endpoint("INSIDE") is None


@pytest.mark.parametrize("name", ["listener.name.OUTSIDE.ssl.client.auth", "listener.name.outsid.ssl.client.auth"])
def test_a_setting_of_a_listener_that_is_not_there_ends_the_start(name: str) -> None:
    """Read by nobody, it would be taken for safety."""
    with pytest.raises(UserError) as raised:
        planned(**{name: "required"})
    assert raised.value.cause == f"{name}: there is no listener of this name, in lower case"
    assert raised.value.fix == "Write one of listener.name.inside.…, listener.name.outside.…"


def test_only_some_settings_are_read_for_a_mechanism() -> None:
    planned(**{"listener.name.outside.scram-sha-512.connections.max.reauth.ms": "1000"})
    planned(**{"listener.name.inside.plain.sasl.jaas.config": "x"})
    with pytest.raises(UserError) as raised:
        planned(**{"listener.name.outside.plain.ssl.client.auth": "required"})
    assert raised.value.fix == "Write listener.name.outside.ssl.client.auth"
