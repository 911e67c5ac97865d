"""`headrace acl …`: rules that say who may do what, and which of them decides."""

from itertools import product
from typing import Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from headrace.cli.security.acl_options import Asked, host_of, need, with_rule_options
from headrace.cluster.entities import Acl
from headrace.security.acl import EVERYTHING, AclFilter
from headrace.security.operations import Operation, PatternType, Permission, ResourceType

app = typer.Typer(help="Allow and deny operations.", no_args_is_help=True, rich_markup_mode=None)

Kind = Annotated[
    str | None, typer.Option("--permission", metavar="allow|deny", help="Only rules that allow, or that deny.")
]
LOCALHOST = "127.0.0.1"


@app.command()
@with_rule_options
def allow(asked: Asked, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Allow operations: headrace acl allow --user alice --read --topic orders --group 'billing-*'."""
    _create(asked, Permission.ALLOW, bootstrap, as_json)


@app.command()
@with_rule_options
def deny(asked: Asked, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Deny operations, whatever other rules allow."""
    _create(asked, Permission.DENY, bootstrap, as_json)


def _create(asked: Asked, permission: Permission, bootstrap: str, as_json: bool) -> None:
    from headrace.admin import acls
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json
    from headrace.cli.security.acl_view import in_words, rule_view

    need(asked)
    rules = _rules(asked, permission)
    with_admin(bootstrap, lambda admin: acls.create_acls(admin, rules))
    if as_json:
        show_json([rule_view(rule) for rule in rules])
    else:
        print("\n".join(map(in_words, rules)))


def _rules(asked: Asked, permission: Permission) -> list[Acl]:
    """A rule for each resource and operation."""
    assert asked.principal is not None
    host = host_of(asked)
    return [
        Acl(pattern.kind, pattern.name, pattern.type, asked.principal, host, operation, permission)
        for pattern, operation in product(asked.resources, asked.operations)
    ]


@app.command("list")
@with_rule_options
def list_rules(
    asked: Asked, permission: Kind = None, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False
) -> None:
    """List rules; with --topic NAME all that apply to it, whether they name it, its beginning or all topics."""
    from headrace.cli.output import show_json
    from headrace.cli.security.acl_view import rule_view, show_rules

    found = _found(_filters(asked, permission, PatternType.MATCH), bootstrap)
    if as_json:
        show_json([rule_view(rule) for rule in found])
    else:
        show_rules(found, empty="no rules; `headrace acl allow` makes one")


@app.command()
@with_rule_options
def delete(
    asked: Asked,
    permission: Kind = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete the rules that have all that is named here; shows them first."""
    from headrace.admin import acls
    from headrace.cli.connection import with_admin
    from headrace.cli.output import count_of, show_json
    from headrace.cli.security.acl_view import rule_view, show_rules

    if asked == (None, None, [], []) and permission is None:
        raise Failure("this would delete every rule", "say which: --user NAME, --topic NAME, …", ExitCode.USAGE)
    if as_json and not yes:
        raise Failure("delete asks first, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE)
    found = _found(_filters(asked, permission, PatternType.LITERAL), bootstrap)
    if not found:
        raise Failure("there is no such rule", "`headrace acl list` shows them", ExitCode.NOT_FOUND)
    if not yes:
        show_rules(found)
        if not typer.confirm(f"Delete {count_of(len(found), 'rule')}?"):
            raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)
    deleted = with_admin(bootstrap, lambda admin: acls.delete_acls(admin, found))
    if as_json:
        show_json([rule_view(rule) for rule in found])
    else:
        print(f"deleted {count_of(deleted, 'rule')}")


def _filters(asked: Asked, permission: str | None, of_names: PatternType) -> list[AclFilter]:
    """The questions that together find the rules; `of_names` says how a whole name is meant."""
    kinds: dict[str | None, Permission] = {None: Permission.ANY, "allow": Permission.ALLOW, "deny": Permission.DENY}
    if permission not in kinds:
        raise Failure(f"--permission {permission} is neither allow nor deny", "write allow or deny", ExitCode.USAGE)
    patterns: list[tuple[int, str | None, int]] = [
        (
            each.kind,
            each.name,
            of_names if each.type is PatternType.LITERAL and each.name != EVERYTHING else each.type,
        )
        for each in asked.resources
    ]
    return [
        AclFilter(*pattern, asked.principal, asked.host, operation, kinds[permission])
        for pattern, operation in product(
            patterns or [(ResourceType.ANY, None, PatternType.ANY)], asked.operations or [Operation.ANY]
        )
    ]


def _found(filters: list[AclFilter], bootstrap: str) -> list[Acl]:
    from headrace.admin import acls
    from headrace.cli.connection import with_admin

    return with_admin(bootstrap, lambda admin: acls.find_acls(admin, filters))


@app.command()
@with_rule_options
def test(asked: Asked, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> int:
    """Say whether a user may do something, and which rule decides; exit code 4 if not. --host is 127.0.0.1 unless given."""
    from headrace.admin import acls
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json
    from headrace.cli.security.acl_view import in_words, rule_view

    need(asked)
    authorizer = with_admin(bootstrap, acls.authorizer_of)
    principal, host = asked.principal or "", asked.host or LOCALHOST
    verdicts = [
        (pattern, operation, authorizer.decide(principal, host, operation, pattern.kind, pattern.name))
        for pattern, operation in product(asked.resources, asked.operations)
    ]
    rows = [
        {
            "allowed": verdict.allowed,
            "operation": operation.name.lower(),
            "resource": pattern.kind.name.lower(),
            "name": pattern.name,
            "cause": verdict.cause,
            "rule": None if verdict.rule is None else rule_view(verdict.rule),
        }
        for pattern, operation, verdict in verdicts
    ]
    if as_json:
        show_json(rows)
    else:
        for pattern, operation, verdict in verdicts:
            because = verdict.cause if verdict.rule is None else f"{verdict.cause}: {in_words(verdict.rule)}"
            said = "allowed" if verdict.allowed else "denied"
            print(
                f"{said}: {principal} to {operation.name.lower()} {pattern.kind.name.lower()} {pattern.name}: {because}"
            )
    return ExitCode.OK if all(verdict.allowed for _, _, verdict in verdicts) else ExitCode.REFUSED
