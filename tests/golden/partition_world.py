"""A partition of broker 1, its disk in memory: the commands of tests/golden/partition."""

from typing import Any

from batches import NOW, batch
from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.cluster.entities import PartitionState
from headrace.replica.proposal import Proposal
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker
from partition_rig import PartitionRig

ME = 1


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each)


class PartitionWorld:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.now = NOW
        self.proposals: list[Proposal] = []

    def new(
        self, replicas: str = "1", isr: str = "", leader: str = "1", epoch: str = "1", **settings: str
    ) -> list[str]:
        """The partition as the metadata have it; further words are settings of its topic."""
        state = PartitionState(numbers(replicas), numbers(isr or replicas), int(leader), int(epoch))
        self.rig = PartitionRig(state, **settings)
        self.partition = self.rig.partition
        return self._status()

    # -- as a leader ---------------------------------------------------------------------------------------------------

    def append(self, acks: str = "all", records: str = "1", producer: str = "-1", epoch: str = "0", seq: str = "0",
               transactional: str = "no", **names: str) -> list[str]:  # fmt: skip
        name = names.get("as", "it")
        wanted = {"all": -1}.get(acks) or int(acks)
        fields: dict[str, Any] = {}
        if int(producer) >= 0:
            fields = {"producer_id": int(producer), "producer_epoch": int(epoch), "base_sequence": int(seq)}
        content = batch(*[b"v"] * int(records), transactional=transactional == "yes", **fields)
        try:
            verification = None
            if transactional == "yes":
                verification = self.partition.verifications.begin(int(producer), int(epoch))
            placed = self.partition.appends.append(memoryview(content), wanted, 9, self.now, verification)
        except Refused as refusal:
            return self._refused(refusal)
        waits = wanted != 0 and self.partition.wait(placed.end_offset, wanted, self, name)
        self.said.append(
            f"{name}: offsets {placed.base_offset} to {placed.end_offset - 1}, {'waits' if waits else 'acked'}"
        )
        return self._status()

    def marker(self, producer: str, outcome: str = "commit", epoch: str = "0") -> list[str]:
        try:
            end = self.partition.appends.append_marker(
                Marker(outcome == "commit", 0), int(producer), int(epoch), 1, self.now
            )
        except Refused as refusal:
            return self._refused(refusal)
        self.said.append(f"the marker ends at {end}")
        return self._status()

    def fetch(self, replica: str, offset: str, registration: str = "1") -> list[str]:
        """A follower's fetch, which proves what it has."""
        self.partition.in_sync.on_follower_fetch(int(replica), int(registration), int(offset), self.now)
        return self._status()

    def check_lag(self, seconds: str = "30") -> list[str]:
        self.partition.in_sync.check_followers({}, float(seconds), self.now)
        return self._status()

    def commit(self) -> list[str]:
        """The store takes what was proposed."""
        (_, proposal), *_ = self.rig.proposals
        self.rig.proposals.clear()
        state = self.partition.state
        return self._state(state._replace(isr=proposal.isr, partition_epoch=state.partition_epoch + 1))

    def refuse(self) -> list[str]:
        """The store refuses what was proposed."""
        self.rig.proposals.clear()
        self.partition.in_sync.on_proposal_refused()
        return self._status()

    # -- as a follower -------------------------------------------------------------------------------------------------

    def copy(self, records: str = "1", epoch: str = "1", watermark: str = "0", start: str = "0") -> list[str]:
        """What the leader answered to a fetch from our end."""
        content = batch(*[b"v"] * int(records), leader_epoch=int(epoch), base_offset=self.partition.log.end_offset)
        self.partition.following.append_copies(memoryview(content), (parse_header(content),), self.now)
        self.partition.following.on_leader_word(int(watermark), int(start), self.partition.log.end_offset)
        return self._status()

    def cut(self, offset: str) -> list[str]:
        self.partition.following.truncate(int(offset), self.now)
        return self._status()

    # -- what happens to both ------------------------------------------------------------------------------------------

    def state(self, leader: str, epoch: str, isr: str) -> list[str]:
        state = self.partition.state
        changed = state._replace(leader=int(leader), leader_epoch=int(epoch), isr=numbers(isr))
        return self._state(changed._replace(partition_epoch=state.partition_epoch + 1))

    def sync(self) -> list[str]:
        self.rig.sync()
        return self._status()

    def wait(self, seconds: str) -> list[str]:
        self.now = Now(self.now.mono + float(seconds), self.now.wall + int(float(seconds) * 1000))
        return [f"{seconds} s later"]

    def read(self, offset: str, by: str = "consumer", isolation: str = "uncommitted") -> list[str]:
        try:
            found = self.partition.reads.read(int(offset), 1 << 20, True, by == "follower", isolation == "committed")
        except Refused as refusal:
            return self._refused(refusal)
        return ["nothing"] if found is None else [f"offsets {offset} to {found.next_offset - 1}"]

    def delete_records(self, before: str) -> list[str]:
        try:
            self.partition.upkeep.delete_records(int(before))
        except Refused as refusal:
            return self._refused(refusal)
        return self._status()

    def producer(self, id: str) -> list[str]:
        known = self.partition.log.state.producers.get(int(id))
        return ["unknown"] if known is None else [f"epoch {known.epoch}, last sequence {known.batches[-1][1]}"]

    # -- a waiter's side -----------------------------------------------------------------------------------------------

    def is_waiting(self, part: object) -> bool:
        return True

    def on_reached(self, part: object) -> None:
        self.said.append(f"{part}: acked")

    def on_lost(self, part: object, code: int) -> None:
        self.said.append(f"{part}: {ErrorCode(code).name}")

    # -- what is said --------------------------------------------------------------------------------------------------

    def _state(self, state: PartitionState) -> list[str]:
        self.partition.on_state(state, self.now)
        return self._status()

    def _refused(self, refusal: Refused) -> list[str]:
        said, self.said = self.said, []
        return [*said, f"refused: {ErrorCode(refusal.code).name}: {refusal.message}"]

    def _status(self) -> list[str]:
        self.rig.carry_out()
        each = self.partition
        said, self.said = self.said, []
        said += [f"proposes in-sync set {','.join(map(str, proposal.isr))}" for _, proposal in self.rig.proposals]
        role = f"leads in epoch {each.leader_epoch}" if each.is_leader else f"follows {each.state.leader}"
        log = each.log
        said.append(
            f"{role}, in sync {','.join(map(str, each.state.isr))}: start {log.start_offset}, "
            f"watermark {each.high_watermark}, synced {log.sync.synced_end}, end {log.end_offset}"
        )
        return said
