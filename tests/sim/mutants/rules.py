"""Guards of rules (ACLs), taken away one by one: how they decide, and where they are asked."""

from headrace.broker.handlers import fetch, metadata, topic_partitions
from headrace.broker.net.dispatch import Dispatch
from headrace.broker.security.authorization import Authorization, RuledRights
from headrace.broker.security.screens import parts, records
from headrace.security import authorizer
from headrace.security.authorizer import Authorizer
from sim.mutants.guards import caught_by, without

AUTHORIZER = "tests/unit/security/test_authorizer.py"
AUTHORIZATION = "tests/unit/broker/test_authorization.py"
PRODUCE = "tests/unit/broker/test_screen_of_produce.py"
INTRUDER = "tests/sim/test_intruder.py"
INTRUDES = "test_nothing_that_an_intruder_asks_changes_or_shows_anything"

RULES = (
    *caught_by(
        AUTHORIZER,
        (
            "denials-do-not-win",
            "test_a_denial_wins_over_every_permission",
            without("A denial wins over every permission.", Authorizer._judged, "if rule.denies(operation, address):"),
        ),
        (
            "what-no-rule-covers-is-allowed",
            "test_nothing_is_allowed_without_a_rule",
            without(
                "What no rule allows is denied.",
                Authorizer._judged,
                "if not has_rules and self._allows_where_no_rule:",
                "if not has_rules:",
            ),
        ),
        (
            "rules-of-others-open-a-resource",
            "test_where_no_rule_is_found_everybody_may_if_that_is_set",
            without(
                "A resource that any rule covers is open to nobody else, whatever is open.",
                Authorizer._judged,
                "if not has_rules and self._allows_where_no_rule:",
                "if self._allows_where_no_rule:",
            ),
        ),
        (
            "hosts-of-rules-do-not-count",
            "test_hosts",
            without(
                "A rule speaks of the addresses that it names.",
                authorizer._Rule.allows,
                "and self._is_from(address)",
                "",
            ),
        ),
        (
            "unread-hosts-are-allowed",
            "test_what_cannot_be_compared_allows_nobody_and_denies_everybody",
            without(
                "A rule that is not understood allows nobody.", authorizer._Rule.allows, "and not self._is_nowhere", ""
            ),
        ),
        (
            "denied-names-count-as-some",
            "test_on_any_resource_means_that_there_is_a_name_for_which_it_is_allowed",
            without(
                "A permission that denials cover whole is none.",
                Authorizer.decide_any,
                "any(not _is_dominated(pattern, names, beginnings) for pattern in allowed)",
                "bool(allowed)",
            ),
        ),
    ),
    *caught_by(
        AUTHORIZATION,
        (
            "everybody-may-before-the-rules-are-there",
            "test_nobody_may_do_anything_before_the_rules_are_there",
            without(
                "Before the first rules are there nobody may do anything.",
                Authorization.__init__,
                "Authorizer((), super_users)",
                "Authorizer((), super_users, allows_where_no_rule)",
            ),
        ),
        (
            "answers-outlive-their-rules",
            "test_rights_go_by_new_rules_at_once",
            without(
                "The next request goes by new rules.",
                RuledRights.go_by,
                "self._known: dict[tuple[Operation, ResourceType, str], bool] = {}",
                'self._known = getattr(self, "_known", {})',
            ),
        ),
    ),
    *caught_by(
        PRODUCE,
        (
            "batches-of-transactions-are-not-looked-at",
            "test_a_batch_of_a_transaction_needs_the_right_to_its_id",
            without(
                "A batch of a transaction needs the permission for its id, whatever its request says.",
                records.screen_produce,
                "if _has_transactional(body) and not (",
                "if False and not (",
            ),
        ),
    ),
    *caught_by(
        INTRUDER,
        (
            "screens-are-not-asked",
            INTRUDES,
            without(
                "Where rights are limited the screen of an API is asked before its handler.",
                Dispatch.dispatch,
                "if connection.rights.is_unlimited or route.screen is None:",
                "if True:",
            ),
        ),
        (
            "denied-parts-stay-in",
            INTRUDES,
            without(
                "What is denied is taken out of a request before anything is looked at.",
                parts.take_out,
                "(allowed if is_allowed(each) else denied).append(each)",
                "allowed.append(each)",
            ),
        ),
        (
            "fetches-are-not-asked-for-rights",
            INTRUDES,
            without(
                "A fetch asks for rights before a partition is looked at.",
                fetch.ActiveFetch._read,
                "if self._rights is not None and name is not None:",
            ),
        ),
        (
            "all-topics-are-listed",
            INTRUDES,
            without(
                "A list of all topics has those that one may know of.",
                metadata._answer_all,
                "if not request.rights.topic(Operation.DESCRIBE, topic.name):",
            ),
        ),
        (
            "all-topics-are-paged",
            INTRUDES,
            without(
                "A page of all topics has those that one may know of.",
                topic_partitions.handle_describe_topic_partitions,
                "seen = [name for name in names if rights.topic(Operation.DESCRIBE, name)]",
                "seen = names",
            ),
        ),
    ),
)
