"""Actors: drivers and task attempts, each in a greenlet that hands control back at every port call.

One hand-over per call is enough: between the reply of a call and the request of the next an actor only computes, so
"killed before the next effect" and "killed before the last reply" leave the same world.
"""

from collections.abc import Callable

from greenlet import GreenletExit, getcurrent, greenlet


class Actor:
    """`stays` is asked at every call: whether this actor goes on at once, without a switch to the hub and back.

    `hub` is the greenlet it hands over to, by default the one that makes it: a twin is made by a driver but is not its.
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
        """Let others go on. Never returns to a crashed actor, whatever its `finally` clauses try."""
        if self.dead:
            raise GreenletExit
        if self.stays(self):
            return
        self.hub.switch()
        if self.dead:
            raise GreenletExit

    def crash(self) -> None:
        """`kill -9`: it is gone between two effects; what it sent is done or queued, what it knew is lost."""
        self.dead = True
        if self.greenlet:  # started and not ended
            self.greenlet.throw(GreenletExit)
