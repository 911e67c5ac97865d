"""Settings of the rules (ACLs) that a broker goes by: whether there are any, and whom they do not bind."""

from typing import Final

from headrace.base.settings import Kind, Setting

AUTHORIZER_SETTINGS: Final = (
    Setting(
        "authorizer.class.name",
        Kind.STRING,
        "",
        "`org.apache.kafka.metadata.authorizer.StandardAuthorizer` makes the broker go by rules (ACLs). Empty, everybody "
        "may do everything. The same on every broker of a cluster.",
    ),
    Setting(
        "super.users",
        Kind.STRING,
        "",
        "Principals that may do everything, whatever rules say, separated by semicolons: `User:admin;User:broker`. "
        "Brokers need it for each other.",
    ),
    Setting(
        "allow.everyone.if.no.acl.found",
        Kind.BOOLEAN,
        False,
        "Whether everybody may do everything with a resource that no rule covers.",
    ),
)
