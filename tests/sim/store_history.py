"""What was asked of a metadata store and what it told, judged: one order of all commits must explain everything.

Every commit writes its own number as the value, so each value that is seen anywhere tells which commit landed at which
revision. Checks, by name:

    done-once       no commit lands twice, and none that was refused lands at all
    compare         what a commit expected was so, at the moment it landed
    in-order        a commit that began after another was acknowledged has the higher revision
    no-commit-lost  what was acknowledged is in the map, or was overwritten by a later commit
    watch           a watcher sees the map as it was at each revision it is told, and never goes back
    caught-up       in the calm every watcher arrives at the end
    one-holder      nobody is given a lease that another may still believe in
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.cluster.store import ABSENT, Changes, Entry, Lease, Snapshot
from sim.checks import Breach

Map = dict[str, Entry]


class Broken(Exception):
    def __init__(self, check: str, message: str) -> None:
        super().__init__(f"{check}: {message}")
        self.breach = Breach(check, message)


@dataclass
class Attempt:
    number: int
    puts: Mapping[str, bytes | None]
    expect: Mapping[str, int]
    began: int
    outcome: str = "unknown"
    landed: int = 0


@dataclass
class Watcher:
    map: Map
    revision: int
    seen: list[tuple[int, dict[str, int]]] = field(default_factory=list)

    def on_changes(self, changes: Changes) -> None:
        if changes.revision <= self.revision:
            raise Broken("watch", f"told {changes.revision} after {self.revision}")
        self.revision = changes.revision
        for key, value, revision in changes.changes:
            if value is None:
                self.map.pop(key, None)
            else:
                self.map[key] = Entry(value, revision)
        self.seen.append((self.revision, {key: entry.revision for key, entry in self.map.items()}))


class History:
    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.watchers: list[Watcher] = []
        self.acked = 0
        self.newest = 0
        self.sees_all = False
        """Somebody looks after every commit, so that none lands unseen."""

    def begin(self, keys: list[str], deleted: list[str], expect: Mapping[str, int]) -> Attempt:
        number = len(self.attempts)
        puts = dict.fromkeys(keys, b"%d" % number) | dict.fromkeys(deleted)
        self.attempts.append(Attempt(number, puts, expect, self.newest))
        return self.attempts[-1]

    def on_acked(self, attempt: Attempt, revision: int) -> None:
        attempt.outcome = "done"
        self.acked += 1
        self._land(attempt, revision)
        if revision <= attempt.began:
            raise Broken("in-order", f"commit {attempt.number} at {revision}, begun after {attempt.began}")
        self.newest = max(self.newest, revision)

    def on_refused(self, attempt: Attempt) -> None:
        attempt.outcome = "refused"
        if attempt.landed:
            raise Broken("done-once", f"commit {attempt.number} was refused, and landed at {attempt.landed}")

    def on_seen(self, snapshot: Snapshot) -> None:
        for entry in snapshot.entries.values():
            self.on_value(entry.value, entry.revision)

    def on_value(self, value: bytes | None, revision: int) -> None:
        if value:
            self._land(self.attempts[int(value)], revision)

    def _land(self, attempt: Attempt, revision: int) -> None:
        if attempt.outcome == "refused" or attempt.landed not in (0, revision):
            raise Broken("done-once", f"commit {attempt.number} ({attempt.outcome}) at {attempt.landed} and {revision}")
        attempt.landed = revision

    def watch(self, snapshot: Snapshot) -> Watcher:
        self.watchers.append(Watcher(dict(snapshot.entries), snapshot.revision))
        return self.watchers[-1]

    def check(self, final: Snapshot) -> None:
        self.on_seen(final)
        states = self._replayed()
        self._check_final(final, states)
        for watcher in self.watchers:
            self._check_watcher(watcher, states)

    def _in_doubt(self) -> set[str]:
        """Keys that a commit may have touched of which nobody saw whether it landed."""
        if self.sees_all:
            return set()
        return {key for each in self.attempts if each.outcome == "unknown" and not each.landed for key in each.puts}

    def _replayed(self) -> dict[int, Map]:
        landed = sorted((each for each in self.attempts if each.landed), key=lambda each: each.landed)
        state: Map = {}
        states: dict[int, Map] = {0: state}
        doubt = self._in_doubt()
        for attempt in landed:
            for key, wanted in attempt.expect.items():
                found = state[key].revision if key in state else ABSENT
                if found != wanted and key not in doubt:
                    raise Broken("compare", f"commit {attempt.number} expected {key} at {wanted}, it was at {found}")
            state = dict(state)
            for key, value in attempt.puts.items():
                if value is None:
                    state.pop(key, None)
                else:
                    state[key] = Entry(value, attempt.landed)
            if attempt.landed in states:
                raise Broken("in-order", f"two commits at revision {attempt.landed}")
            states[attempt.landed] = state
        return states

    def _check_final(self, final: Snapshot, states: dict[int, Map]) -> None:
        last = states[max(states)]
        for key in last.keys() | final.entries.keys():
            if last.get(key) != final.entries.get(key) and key not in self._in_doubt():
                raise Broken("no-commit-lost", f"{key} is {final.entries.get(key)}, not {last.get(key)}")
        if final.revision < max(states):
            raise Broken("no-commit-lost", f"the map is at {final.revision}, {max(states)} was acknowledged")

    def _check_watcher(self, watcher: Watcher, states: dict[int, Map]) -> None:
        doubt = self._in_doubt()
        for revision, seen in watcher.seen:
            if revision not in states:
                continue
            true = {key: entry.revision for key, entry in states[revision].items()}
            wrong = {key for key in true.keys() | seen.keys() if true.get(key) != seen.get(key)} - doubt
            if wrong:
                raise Broken("watch", f"at {revision} {sorted(wrong)} differ: told {seen}, true {true}")


class Tenures:
    """Who may believe to hold which lease, and until when: from before it asked, for as long as it asked for."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Lease, float]] = {}

    def on_held(self, lease: Lease, asked: float, answered: float) -> None:
        held, until = self._held.get(lease.name, (lease, 0.0))
        is_successor = held.holder == lease.holder and held.epoch <= lease.epoch
        if answered < until and not is_successor:
            raise Broken("one-holder", f"{lease} at {answered:.3f}, while {held} holds it until {until:.3f}")
        if held == lease or answered >= until or is_successor:
            self._held[lease.name] = (lease, asked + lease.ttl_ms / 1000)

    def on_gone(self, lease: Lease) -> None:
        if self._held.get(lease.name, (None, 0))[0] == lease:
            del self._held[lease.name]
