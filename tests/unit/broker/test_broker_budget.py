"""The budget of buffer bytes: bounded by its limit and one frame, fair, and never a dead end."""

from headrace.broker.net.budget import Budget


class Holder:
    def __init__(self, budget: Budget, wants: int = 0) -> None:
        self.budget = budget
        self.wants = wants
        self.has = 0

    def take(self, count: int) -> bool:
        self.wants = count
        taken = self.budget.take(count, self)
        self.has += count if taken else 0
        return taken

    def on_budget(self) -> None:
        assert self.take(self.wants), "told that there is room when there is none"

    def give_back(self) -> None:
        count, self.has = self.has, 0
        self.budget.give_back(count, self)


def test_within_the_limit_everyone_gets_what_they_want() -> None:
    budget = Budget(100)
    assert Holder(budget).take(60)
    assert Holder(budget).take(40)
    assert budget.used == 100
    assert not budget.is_contended


def test_one_goes_over_and_the_next_waits() -> None:
    budget = Budget(100)
    first, second = Holder(budget), Holder(budget)
    assert first.take(80)
    assert second.take(50), "somebody must always be able to finish"
    third = Holder(budget)
    assert not third.take(1)
    assert budget.is_contended
    second.give_back()
    assert third.has == 1
    assert not budget.is_contended


def test_who_is_over_may_take_more() -> None:
    budget = Budget(100)
    holder = Holder(budget)
    assert holder.take(150)
    assert holder.take(150)
    assert budget.used == 300


def test_half_frames_that_fill_the_budget_finish_one_after_the_other() -> None:
    """All hold half of what they need, and none could go on if each waited for the others."""
    budget = Budget(100)
    holders = [Holder(budget) for _ in range(10)]
    for holder in holders:
        assert holder.take(10)
    for holder in holders:
        holder.take(10)
    finished = []
    while unfinished := [holder for holder in holders if holder.has == 20]:
        assert budget.used <= 120
        finished.append(unfinished[0])
        unfinished[0].give_back()
    assert len(finished) == 10
    assert budget.used == 0


def test_waiting_is_in_turn() -> None:
    budget = Budget(100)
    over = Holder(budget)
    over.take(200)
    waiting = [Holder(budget) for _ in range(3)]
    for holder, count in zip(waiting, (90, 5, 90), strict=True):
        assert not holder.take(count)
    over.give_back()
    assert [holder.has for holder in waiting] == [90, 5, 90], "the last one goes over the limit, alone"
    assert budget.is_contended


def test_room_for_less_than_the_first_in_line_wants_is_not_given_past_it() -> None:
    budget = Budget(100)
    first, over = Holder(budget), Holder(budget)
    first.take(60)
    over.take(60)
    large, small = Holder(budget), Holder(budget)
    assert not large.take(80)
    assert not small.take(10)
    first.give_back()
    assert (large.has, small.has) == (0, 0)
    over.give_back()
    assert (large.has, small.has) == (80, 10)


def test_who_is_gone_is_not_told() -> None:
    budget = Budget(100)
    over, gone, next_one = Holder(budget), Holder(budget), Holder(budget)
    over.take(200)
    gone.take(50)
    next_one.take(50)
    budget.forget(gone)
    over.give_back()
    assert (gone.has, next_one.has) == (0, 50)
