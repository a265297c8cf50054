"""Everything that can happen to rooms, in any order, over fakes (spec 2.3, 2.4, 3.5, 4)."""

from hypothesis import HealthCheck, settings

from tests.support.rooms_machine import RoomsMachine

TestRooms = RoomsMachine.TestCase
TestRooms.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
