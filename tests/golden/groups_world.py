"""Groups of one coordinator: the commands of tests/golden/groups.

Members are called by short names; the ids that the coordinator gives out are remembered for them.
"""

from desk import Desk
from next_members import heartbeat

from headrace.groups.partitions import from_wire
from headrace.wire.codes import ErrorCode


class GroupsWorld:
    def __init__(self) -> None:
        self.desk = Desk()
        self.ids: dict[str, str] = {}
        self.parked: dict[int, str] = {}
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, frozenset] = {}

    # -- the classic protocol ------------------------------------------------------------------------------------------

    def join(self, name: str, instance: str | None = None) -> list[str]:
        ticket = self.desk.join(self.ids.get(name, ""), instance)
        if instance is None and name not in self.ids:
            # A dynamic member is given its id first, and comes back with it.
            answer = self.desk.answer(ticket)
            self.ids[name] = answer.member_id
            return [f"{name}: {self._code(answer.error_code)}"]
        self.parked[ticket] = name
        return self._answers(f"{name}: waits")

    def sync(self, name: str, generation: str, *shares: str) -> list[str]:
        """`shares` are MEMBER:WORD, as the leader of the group gives them out."""
        given = {self.ids[member]: share.encode() for member, _, share in (each.partition(":") for each in shares)}
        ticket = self.desk.sync(self.ids[name], int(generation), given)
        self.parked[ticket] = name
        return self._answers(f"{name}: waits")

    def heartbeat(self, name: str, generation: str) -> list[str]:
        return [f"{name}: {self._code(self.desk.heartbeat(self.ids[name], int(generation)))}"]

    def leave(self, name: str) -> list[str]:
        answer = self.desk.leave((self.ids[name],))
        return self._answers(f"{name}: {self._code(answer.error_code)}", f"{name}: {self._code(answer.error_code)}")

    # -- the next generation -------------------------------------------------------------------------------------------

    def beat(self, name: str) -> list[str]:
        """A heartbeat of a KIP-848 member, which owns what it was last told."""
        owned = self.owned.get(name, frozenset())
        epoch = self.epochs.get(name, 0)
        fields = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 60_000}
        answer = heartbeat(self.desk, name, epoch, owned, **fields)
        if answer.error_code:
            return [f"{name}: {self._code(answer.error_code)}"]
        self.epochs[name], self.owned[name] = answer.member_epoch, owned
        said = f"{name}: epoch {answer.member_epoch}"
        if answer.assignment is not None:
            self.owned[name] = from_wire(answer.assignment.topic_partitions)
            said += f", may read {self._numbers(self.owned[name]) or 'nothing'}"
        return [said]

    def stop(self, name: str) -> list[str]:
        answer = heartbeat(self.desk, name, -1)
        self.epochs.pop(name, None)
        self.owned.pop(name, None)
        return [f"{name}: {self._code(answer.error_code)}"]

    # -- offsets -------------------------------------------------------------------------------------------------------

    def commit(self, offset: str, by: str = "", generation: str = "-1", partition: str = "0") -> list[str]:
        member = self.ids.get(by, by)
        return [self._code(self.desk.commit_offset(int(offset), member, int(generation), partition=int(partition)))]

    def offset(self, partition: str = "0") -> list[str]:
        return [str(self.desk.offset(partition=int(partition)))]

    # -- time and fail-over --------------------------------------------------------------------------------------------

    def wait(self, seconds: str) -> list[str]:
        self.desk.pass_time(float(seconds))
        return self._answers(f"{seconds} s later")

    def fail_over(self) -> list[str]:
        self.desk.reload()
        lost = [f"{name}: connection lost" for name in self.parked.values()]
        self.parked.clear()
        return [*lost, f"loaded {len(self.desk.log)} records"]

    # -- what is said --------------------------------------------------------------------------------------------------

    def _answers(self, otherwise: str, *first: str) -> list[str]:
        said = list(first)
        for ticket, name in list(self.parked.items()):
            if not self.desk.is_parked(ticket):
                del self.parked[ticket]
                said.append(f"{name}: {self._told(name, self.desk.answer(ticket))}")
        return said or [otherwise]

    def _told(self, name: str, answer: object) -> str:
        if answer.error_code:
            return self._code(answer.error_code)
        if hasattr(answer, "assignment"):
            return f"assigned {answer.assignment.decode()!r}"
        self.ids[name] = answer.member_id
        leads = f", leads {len(answer.members)}" if answer.members else ""
        return f"generation {answer.generation_id}{leads}"

    @staticmethod
    def _code(code: int) -> str:
        return ErrorCode(code).name

    @staticmethod
    def _numbers(parts: frozenset) -> str:
        return ", ".join(str(number) for _, number in sorted(parts))
