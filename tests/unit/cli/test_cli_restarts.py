"""When children of `headrace up --restart` are started again."""

from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import ServeChild
from headrace.cli.up.restarts import Restarts

CHILD, OTHER = ServeChild(ServeOptions(id=1)), ServeChild(ServeOptions(id=2))


def test_pauses_grow_while_a_child_keeps_dying_and_begin_anew_after_a_steady_minute() -> None:
    restarts, now, pauses = Restarts(True), 0.0, []
    for lived in (5.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 100.0):
        restarts.on_launch(CHILD, now)
        now += lived
        pauses.append(restarts.on_death(CHILD, now))
        now += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 1]


def test_a_child_is_due_when_its_pause_is_over_and_never_twice() -> None:
    restarts = Restarts(True)
    restarts.on_launch(CHILD, 0)
    restarts.on_death(CHILD, 10)
    restarts.on_death(OTHER, 10.5)
    assert restarts.due(10.9) == [] and restarts.seconds_left(10.5) == 0.5
    assert restarts.due(11) == [CHILD]
    restarts.on_launch(CHILD, 11)
    assert restarts.due(12) == [OTHER]


def test_without_the_option_nobody_is_started_again() -> None:
    restarts = Restarts(False)
    assert restarts.on_death(CHILD, 1) is None
    assert restarts.due(100) == [] and restarts.seconds_left(1) is None
