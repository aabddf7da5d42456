from tamis.broker.pace import Pace


def test_what_cannot_pass_is_halved_until_it_is_alone_and_tried_ever_later() -> None:
    pace = Pace(1000)
    pauses = [pace.failed(pace.limit) for _ in range(20)]
    assert pace.limit == 1
    assert pauses == sorted(pauses)
    assert pauses[-1] == 5.0


def test_it_fails_as_long_as_kafka_does() -> None:
    pace = Pace(1000)
    pauses = {pace.failed(pace.limit) for _ in range(5000)}
    assert (max(pauses), pace.limit, pace.failures) == (5.0, 1, 5000)


def test_after_a_success_it_grows_again_up_to_the_most() -> None:
    pace = Pace(1000)
    for _ in range(20):
        pace.failed(pace.limit)
    for _ in range(20):
        pace.succeeded(pace.limit, pace.limit)
    assert pace.limit == 1000
    assert pace.failed(1000) < 0.1


def test_where_there_was_room_for_fewer_than_were_polled_about_as_many_are_polled() -> None:
    pace = Pace(1000)
    for _ in range(5):
        pace.succeeded(30, pace.limit)
    assert pace.limit == 60


def test_one_event_that_fills_transactions_alone_says_little_of_those_behind_it() -> None:
    pace = Pace(1000)
    pace.succeeded(1, 1000)
    assert pace.limit == 500
    pace.succeeded(500, 500)
    assert pace.limit == 1000
