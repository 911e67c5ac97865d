"""Guards of tokens, taken away one by one: what a token may, how long, who may make, see and end one."""

from headrace.broker.handlers import tokens as handlers
from headrace.broker.security import gate, token_logins, token_sessions
from headrace.broker.security.token_logins import TokenLogins
from headrace.broker.security.token_rights import TokenRights
from headrace.broker.security.token_sessions import TokenSessions
from headrace.security import revocation, scope, tokens
from headrace.security.scope import Scope
from sim.mutants.guards import caught_by, without

LOGINS = "tests/unit/broker/test_token_logins.py"
SESSIONS = "tests/unit/broker/test_token_sessions.py"
RIGHTS = "tests/unit/broker/test_token_rights.py"
HANDLERS = "tests/unit/broker/test_token_handlers.py"
SCOPE = "tests/unit/security/test_scope.py"
REVOCATION = "tests/unit/security/test_revocation.py"

TOKENS = (
    *caught_by(
        LOGINS,
        (
            "signatures-of-tokens-do-not-count",
            "test_a_token_without_its_caveats_or_of_another_cluster_lets_nobody_in",
            without(
                "A scoped token is genuine, with all of its caveats.",
                TokenLogins.by_text,
                "if not is_genuine(token, key_of(self._secret, token.id)):",
            ),
        ),
        (
            "expired-tokens-log-in",
            "test_an_expired_token_lets_nobody_in",
            without("A token that has expired lets nobody in.", TokenLogins._login, "if now_ms >= ends_ms:"),
        ),
        (
            "ends-of-narrowed-tokens-do-not-count",
            "test_a_login_by_a_token_is_its_owners_within_its_scope",
            without(
                "A session ends when the narrowest token ends that it logged in by.",
                token_logins._ends_ms,
                " if scope.until_ms is None else min(ends_ms, scope.until_ms)",
                "",
            ),
        ),
        (
            "addresses-of-tokens-do-not-count",
            "test_a_caveat_may_refuse_the_login",
            without(
                "A token lets in only who comes from where it says.",
                gate.sign_in,
                "if login.scope is not None and not login.scope.is_from(connection.ip):",
            ),
        ),
        (
            "bearers-act-as-others",
            "test_a_bearer_acts_as_nobody_else",
            without("A token acts as its owner only.", TokenLogins.by_text, 'if acts_as not in ("", login.user):'),
        ),
        (
            "revoked-narrowed-tokens-log-in",
            "test_a_narrowed_token_is_revoked_alone_with_what_was_made_of_it",
            without(
                "A narrowed token that is revoked lets nobody in.",
                TokenLogins._login,
                "if not set(narrowings).isdisjoint(token.revoked):",
            ),
        ),
        (
            "all-credentials-of-a-user-are-one",
            "test_what_is_kept_for_a_token_is_for_no_other_credential",
            without(
                "What is kept for a session of a token is for no other credential of its owner.",
                gate.sign_in,
                "connection.credential = f\"{principal} by {login.token_id} {''.join(login.fingerprints[-1:])}\"",
                "pass",
            ),
        ),
    ),
    *caught_by(
        SESSIONS,
        (
            "sessions-outlive-their-token",
            "test_a_revoked_one_closes_its_connections",
            without(
                "A revoked token's sessions end at once.", TokenSessions.on_image, "rights.token_id in ended or ", ""
            ),
        ),
        (
            "sessions-outlive-a-shorter-life",
            "test_a_life_that_is_cut_short_closes_them_too_and_a_longer_one_does_not",
            without(
                "A session ends when the life of its token is cut short.",
                token_sessions._ends_sooner,
                " or now.expires_ms < token.expires_ms",
                "",
            ),
        ),
        (
            "sessions-outlive-their-narrowed-token",
            "test_a_narrowed_one_closes_its_connections_and_those_of_what_was_made_of_it",
            without(
                "Sessions of a narrowed token that is revoked end at once.",
                TokenSessions.on_image,
                " or not revoked.isdisjoint(rights.fingerprints)",
                "",
            ),
        ),
    ),
    *caught_by(
        RIGHTS,
        (
            "tokens-keep-what-their-owner-lost",
            "test_what_the_owner_loses_is_lost_at_once",
            without(
                "A token may no more than its owner may at that moment.",
                TokenRights.may,
                "return is_in_scope and self._owners.may(*asked)",
                "return is_in_scope",
            ),
        ),
        (
            "tokens-may-what-their-owner-may",
            "test_they_are_limited_also_where_nobody_elses_are",
            without(
                "A token may no more than its scope says.",
                TokenRights.may,
                "return is_in_scope and self._owners.may(*asked)",
                "return self._owners.may(*asked)",
            ),
        ),
        (
            "tokens-may-on-any-resource",
            "test_they_are_what_both_allow",
            without(
                "A token may something on some resource only if its owner may it on one that it names.",
                TokenRights.may_on_any,
                "return any(self._may_on_one_of(each, operation, kind) for each in names)",
                "return True",
            ),
        ),
    ),
    *caught_by(
        HANDLERS,
        (
            "tokens-make-tokens",
            "test_nobody_asks_without_a_login_or_by_a_token",
            without(
                "A token makes, sees and ends no tokens.", handlers._check_asker, " or request.rights.token_id", ""
            ),
        ),
        (
            "tokens-are-made-for-anybody",
            "test_one_of_another_user_needs_the_right_to_it",
            without(
                "A token of another user needs CreateTokens on that user.",
                handlers._asked,
                "if owner != requester and not request.rights.may(Operation.CREATE_TOKENS, ResourceType.USER, owner):",
            ),
        ),
        (
            "anybody-ends-a-token",
            "test_who_ends_one",
            without(
                "A token is ended or prolonged by its owner, its renewers, or who may alter the cluster.",
                handlers._changed,
                "if not may_change_all and not is_owner_or_renewer(token, request.principal):",
            ),
        ),
        (
            "keys-of-tokens-are-told",
            "test_who_sees_one_and_its_key",
            without(
                "The key of a token is told to its owner and its renewers only.",
                tokens.shown_key,
                " if is_owner_or_renewer(token, principal) else token.id.encode()",
                "",
            ),
        ),
        (
            "all-tokens-are-listed",
            "test_who_sees_one_and_its_key",
            without(
                "A token is listed for its owner, its renewers, and whoever may describe it.",
                tokens.visible_tokens,
                "and (is_owner_or_renewer(token, principal) or may_describe(token))",
                "",
            ),
        ),
    ),
    *caught_by(
        SCOPE,
        (
            "unknown-caveats-are-passed-over",
            "test_an_unknown_caveat_refuses_everything",
            without(
                "A caveat that is not understood refuses everything.",
                scope._narrowed,
                'raise BadCaveat(f"a caveat that is not known here: {_shown(caveat)}")',
                "return scope",
            ),
        ),
        (
            "one-caveat-is-enough",
            "test_a_further_caveat_never_gives_anything",
            without(
                "Every caveat of a token must allow.",
                Scope.may,
                "return all(any(",
                "return not self.grants or any(any(",
            ),
        ),
    ),
    *caught_by(
        REVOCATION,
        (
            "narrowed-further-a-revoked-token-lives",
            "test_what_begins_so_ends_and_nothing_else",
            without(
                "With a narrowed token end all that were narrowed from it.", revocation.fingerprints, "[1:]", "[-1:]"
            ),
        ),
        (
            "revocations-have-no-bound",
            "test_so_many_are_remembered_and_no_more",
            without(
                "A bounded number of revocations is kept with a token.",
                revocation.with_revoked,
                "if len(token.revoked) >= REVOKED_MAX:",
            ),
        ),
    ),
)
