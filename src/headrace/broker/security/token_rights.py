"""The rights of a session that logged in by a token: its owner's, as far as the token's scope leaves them.

The owner's rights are those of the moment: what the owner loses, the token loses with the next request.
"""

from headrace.broker.security.rights import REMEMBERED_NAME_MAX, Rights
from headrace.security.operations import OPERATIONS_OF, Operation, ResourceType
from headrace.security.scope import Names, Scope

# Answers of its scope that a session remembers.
SCOPE_ANSWERS_MAX = 1_000


class TokenRights(Rights):
    __slots__ = ("_known", "_owners", "_scope", "fingerprints", "token_id")

    is_unlimited = False

    def __init__(self, owners: Rights, token_id: str, scope: Scope, fingerprints: tuple[str, ...] = ()) -> None:
        assert token_id, "a session of no token has its owner's rights"
        self.token_id = token_id
        self.fingerprints = fingerprints
        self._owners = owners
        self._scope = scope
        self._known: dict[tuple[Operation, ResourceType, str], bool] = {}

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        asked = operation, kind, name
        is_in_scope = self._known.get(asked)
        if is_in_scope is None:
            is_in_scope = self._scope.may(*asked)
            if len(name) <= REMEMBERED_NAME_MAX:
                self._remember(asked, is_in_scope)
        return is_in_scope and self._owners.may(*asked)

    def _remember(self, asked: tuple[Operation, ResourceType, str], is_in_scope: bool) -> None:
        if len(self._known) >= SCOPE_ANSWERS_MAX:
            self._known.clear()
        self._known[asked] = is_in_scope

    def may_on_any(self, operation: Operation, kind: ResourceType) -> bool:
        names = self._scope.names(operation, kind)
        if names is None:
            return self._owners.may_on_any(operation, kind)
        return any(self._may_on_one_of(each, operation, kind) for each in names)

    def _may_on_one_of(self, names: Names, operation: Operation, kind: ResourceType) -> bool:
        if names.is_prefix:
            return self._owners.may_on_any(operation, kind)
        return self._owners.may(operation, kind, names.beginning)

    def operations(self, kind: ResourceType, name: str) -> int:
        return sum(1 << operation for operation in OPERATIONS_OF[kind] if self.may(operation, kind, name))
