"""Guards of logins, taken away one by one: the gate, the mechanisms behind it, and who somebody is told to be."""

from headrace.broker.net import sweep
from headrace.broker.security import certificates
from headrace.broker.security.gate import Gate, LoginSession
from headrace.identity.signed_tokens import TokenVerifier
from headrace.security import credentials, oauthbearer, plain
from headrace.security.credentials import Credentials
from headrace.security.scram import ScramServer
from sim.mutants.guards import caught_by, without

GATE = "tests/unit/broker/test_login_gate.py"
SCRAM = "tests/unit/security/test_scram_server.py"
PLAIN = "tests/unit/security/test_plain.py"
BEARER = "tests/unit/security/test_oauthbearer.py"
SIGNED = "tests/unit/broker/test_signed_tokens.py"
OWN = "tests/unit/broker/test_certificates.py"

LOGINS = (
    *caught_by(
        GATE,
        (
            "requests-pass-before-a-login",
            "test_nothing_but_a_login_is_even_parsed_before_one",
            without(
                "Before a login nothing but a login is looked at.",
                Gate.dispatch,
                'raise PeerError(f"API {key} before a login: this listener wants one (security.protocol=SASL_…)")',
                "self._gates.inner.dispatch(connection, frame); return",
            ),
        ),
        (
            "strangers-send-large-frames",
            "test_frames_before_a_login_are_small",
            without(
                "Frames before a login are small.",
                Gate.__init__,
                "min(frames.frame_bytes_max, gates.settings.frame_bytes_max)",
                "frames.frame_bytes_max",
            ),
        ),
        (
            "strangers-take-the-memory-of-users",
            "test_a_crowd_at_the_gate_is_cut_off_and_nothing_of_it_is_left",
            without(
                "Strangers have a budget of their own.", Gate.__init__, "frames.move_to_budget(gates.budget)", "pass"
            ),
        ),
        (
            "logins-take-their-time",
            "test_who_does_not_log_in_is_cut_off",
            without("A login has a deadline.", sweep.sweep, "elif now > connection.login_by:", "elif False:"),
        ),
        (
            "logins-never-end",
            "test_every_request_after_the_end_of_a_login_closes_the_connection",
            without(
                "After the end of a login no request is answered.",
                LoginSession.dispatch,
                "if connection.frames.last_received > self._ends_at and not _is_handshake(frame):",
            ),
        ),
        (
            "sessions-change-their-user",
            "test_another_user_mechanism_or_password_ends_it",
            without(
                "Who logs in again is who was logged in.",
                Gate._let_in,
                "if self._session is not None and principal != connection.principal:",
            ),
        ),
        (
            "sessions-change-their-mechanism",
            "test_another_user_mechanism_or_password_ends_it",
            without(
                "Who logs in again does so by the same mechanism.",
                Gate.shake,
                "if self._session is not None and mechanism != self._session.mechanism:",
            ),
        ),
        (
            "guessing-costs-no-time",
            "test_a_wrong_password_is_told_after_a_moment_and_the_end",
            without(
                "A refused login is told after a moment.",
                Gate.end,
                "await asyncio.sleep(self._gates.settings.refusal_seconds)",
                "pass",
            ),
        ),
    ),
    *caught_by(
        SCRAM,
        (
            "salts-of-nobody-are-one",
            "test_a_user_who_does_not_exist_looks_like_any_other",
            without(
                "A user who does not exist has a salt of his own.",
                credentials.credential_of_nobody,
                "\\0{mechanism}\\0{name}",
                "\\0{mechanism}",
            ),
        ),
        (
            "users-of-other-shapes-do-not-exist",
            "test_a_user_who_does_not_exist_looks_like_any_other",
            without(
                "A user who does not exist has a salt as long, and as many iterations, as most users.",
                Credentials.of_nobody,
                "self._shapes[mechanism]",
                "Shape(9, 9_999)",
            ),
        ),
        (
            "passwords-are-not-compared",
            "test_who_does_not_know_the_password_is_refused_at_the_end",
            without(
                "Who does not prove the password is refused.",
                ScramServer.answer_final,
                "if not hmac.compare_digest(hashlib.new(self._digest, client_key).digest(), self._credential.stored_key):",
            ),
        ),
        (
            "logins-are-replayed",
            "test_a_replay_is_refused",
            without(
                "A login is about the nonce of this one.",
                ScramServer._parse_final,
                "if nonce[2:] not in (agreed, self._first.nonce + agreed):",
            ),
        ),
    ),
    *caught_by(
        PLAIN,
        (
            "users-act-as-others",
            "test_what_is_no_user_and_password",
            without("Nobody acts as somebody else.", plain.parse_plain, 'if acts_as not in ("", user):'),
        ),
    ),
    *caught_by(
        BEARER,
        (
            "expired-bearers-are-believed",
            "test_clocks_may_be_a_little_apart",
            without("A bearer token ends.", oauthbearer.check_claims, "if now >= expires + skew:"),
        ),
        (
            "bearers-of-other-issuers-are-believed",
            "test_a_token_that_breaks_a_rule",
            without(
                "A bearer token is of the issuer that is expected.",
                oauthbearer.check_claims,
                'if claims.get("iss") != rules.issuer:',
            ),
        ),
        (
            "bearers-for-others-are-believed",
            "test_a_token_that_breaks_a_rule",
            without(
                "A bearer token is for an audience that is expected.",
                oauthbearer.check_claims,
                'if not rules.audiences & set(_words(claims.get("aud"))):',
            ),
        ),
    ),
    *caught_by(
        SIGNED,
        (
            "any-algorithm-signs",
            "test_a_token_that_is_not_believed",
            without(
                "A bearer token is signed by an algorithm of our list.",
                TokenVerifier.claims_of,
                "if not isinstance(algorithm, str) or algorithm not in _KINDS:",
            ),
        ),
    ),
    *caught_by(
        OWN,
        (
            "certificates-change-their-name",
            "test_another_name_is_refused",
            without(
                "A certificate that is changed while a broker runs keeps its distinguished name.",
                certificates.change_refused,
                "if not dn_may_change and before.subject != after.subject:",
            ),
        ),
        (
            "certificates-lose-names",
            "test_fewer_names_are_refused_and_more_are_not",
            without(
                "A certificate that is changed while a broker runs keeps its alternative names.",
                certificates.change_refused,
                "if not san_may_change and lacking:",
            ),
        ),
        (
            "certificates-that-nobody-reads-are-taken",
            "test_one_that_nobody_can_read_is_refused",
            without(
                "A certificate that cannot be compared with the one before is not taken.",
                certificates.change_refused,
                "if dn_may_change and san_may_change:",
                "if before is None or after is None or (dn_may_change and san_may_change):",
            ),
        ),
    ),
)
