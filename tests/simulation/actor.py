"""Actors: drivers and task attempts, each in a greenlet that hands control back at every port call.

One hand-over per call suffices: between the reply to a call and the next request an actor only computes, so "killed before
the next effect" and "killed before the last reply" leave the same world.
"""

from collections.abc import Callable

from greenlet import GreenletExit, getcurrent, greenlet


class Actor:
    """One actor. `stays` is called at each port call and returns whether the actor continues without a switch to the hub.

    `hub` is the greenlet to which it hands over, by default the one that creates it. A twin has another hub than its creator.
    """

    __slots__ = ("dead", "greenlet", "hub", "name", "stays", "wakes_at")

    def __init__(
        self,
        name: str,
        run: Callable[["Actor"], None],
        stays: Callable[["Actor"], bool] = lambda actor: False,
        hub: greenlet | None = None,
    ) -> None:
        self.name = name
        self.hub = hub or getcurrent()
        self.greenlet = greenlet(lambda: run(self), self.hub)
        self.stays = stays
        self.dead = False
        self.wakes_at = 0

    def hand_over(self) -> None:
        """Let other actors run. In a crashed actor it never returns, even from `finally` clauses."""
        if self.dead:
            raise GreenletExit
        if self.stays(self):
            return
        self.hub.switch()
        if self.dead:
            raise GreenletExit

    def crash(self) -> None:
        """Simulate `kill -9` between two effects: requests that were sent are done or queued, memory is lost."""
        self.dead = True
        if self.greenlet:  # it has started and not ended
            self.greenlet.throw(GreenletExit)
