"""ElectLeaders: back to the preferred replica, or to any replica that is alive when somebody insists."""

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.base.probe import Probes
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.image import Image
from headrace.cluster.leadership import ElectionOutcome, elect_leaders
from headrace.cluster.room import full_brokers
from headrace.cluster.store import Commit
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


async def handle_elect_leaders(view: View, probes: Probes, request: Request) -> ElectLeadersResponse:
    election = ElectionAttempt(view, request.body)
    try:
        await view.metadata.change(election.plan)
    except Refused as refusal:
        return ElectLeadersResponse(error_code=refusal.code)
    probes.unclean_elections += election.unclean
    return ElectLeadersResponse(replica_election_results=_results(election.outcomes))


class ElectionAttempt:
    """The outcome for each partition, over as many plans as conflicts made necessary."""

    def __init__(self, view: View, body: ElectLeadersRequest) -> None:
        self._view = view
        self._type = body.election_type
        self._asked: list[TopicPartition] | None = None
        if body.topic_partitions is not None:
            self._asked = [
                TopicPartition(topic.topic, index) for topic in body.topic_partitions for index in topic.partitions
            ]
        self.outcomes: dict[TopicPartition, ElectionOutcome] = {}
        self.unclean = 0

    def plan(self, image: Image) -> list[Commit]:
        live, config = self._view.live, self._view.config
        full = full_brokers(image.brokers, live)
        outcomes, commits, unclean = elect_leaders(image, live, self._type, self._asked, config, full=full)
        for id, outcome in outcomes.items():
            # The first of several commits may be in before a later one conflicts: the next plan has nothing to do for it.
            was_elected = self.outcomes.get(id, _NOT_ASKED).code == ErrorCode.NONE
            if not (was_elected and outcome.code == ErrorCode.ELECTION_NOT_NEEDED):
                self.outcomes[id] = outcome
        self.unclean = max(self.unclean, unclean)
        return commits


_NOT_ASKED = ElectionOutcome(ErrorCode.ELECTION_NOT_NEEDED)


def _results(outcomes: dict[TopicPartition, ElectionOutcome]) -> list[ReplicaElectionResult]:
    topics: dict[str, ReplicaElectionResult] = {}
    for id, outcome in outcomes.items():
        topic = topics.setdefault(id.topic, ReplicaElectionResult(id.topic, []))
        topic.partition_result.append(PartitionResult(id.partition, outcome.code, outcome.message or None))
    return list(topics.values())
