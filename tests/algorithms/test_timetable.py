"""When agents talk: equal blocks up to a horizon, and blocks that grow for ever."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from tests.designs import PROBLEMS

from droculo import Droculo, feedback
from droculo.algorithms import Equal, Growing
from droculo.algorithms.contract import Keys
from droculo.feedback import TABLE_1
from droculo.feedback.table import Row

#: the largest theta of every row of Table 1 and smaller ones, each with the power of T that its slots grow with
GROWTHS = sorted(
    {
        (theta, row.slot)
        for row in TABLE_1.values()
        if isinstance(row, Row)
        for theta in (row.theta_max, Fraction(1, 2), Fraction(3, 5), Fraction(1, 5), Fraction(1, 10))
    }
)
ROUNDS = (1, 2, 3, 7, 64, 65, 999, 4096, 30_001)


def growing(theta, power=Fraction(0), first=1.0):
    return Growing(float(theta), float(power), first)


def whole_root(theta, rounds):
    """T^theta rounded down: the greatest b with b^(1/theta) <= T, in whole numbers."""
    b = round(rounds ** float(theta)) + 2
    while b**theta.denominator > rounds**theta.numerator:
        b -= 1
    return b


def check_span(span, rounds):
    """The blocks follow each other, and each is made of whole slots, except for the very last slot of a horizon."""
    np.testing.assert_array_equal(span.number, np.arange(len(span.number)))
    np.testing.assert_array_equal(span.first, [0, *span.end[:-1]])
    assert np.all(span.end > span.first), "every block has a round"
    assert span.first[-1] < rounds <= span.end[-1], "the last block is the one that round T - 1 lies in"
    np.testing.assert_array_equal(span.of_block, -(-(span.end - span.first) // span.slot))
    np.testing.assert_array_equal(span.complete, span.end <= rounds)
    np.testing.assert_array_equal(span.slots[span.complete], span.of_block[span.complete])
    # the slots that are played are those that begin within the run
    begins = [sum(t < rounds for t in range(f, e, s)) for f, e, s in zip(span.first, span.end, span.slot, strict=True)]
    np.testing.assert_array_equal(span.slots, begins)


@pytest.mark.parametrize("theta", sorted({theta for theta, _ in GROWTHS}))
@pytest.mark.parametrize("rounds", ROUNDS)
def test_t_rounds_have_t_to_the_theta_blocks(theta, rounds):
    """For every T, without rounding: block b ends as soon as b^(1/theta) rounds are over."""
    span = growing(theta).until(rounds)
    check_span(span, rounds)
    assert span.complete.sum() == whole_root(theta, rounds), "T^theta exchanges in T rounds"
    assert len(span.number) == 1 + (whole_root(theta, rounds - 1) if rounds > 1 else 0)
    assert np.all(span.slot == 1)
    for b, end in enumerate(span.end.tolist(), start=1):
        p, q = theta.numerator, theta.denominator
        assert (end - 1) ** p < b**q <= end**p, f"block {b} of theta = {theta} ends after {end} rounds"


@pytest.mark.parametrize("first", [1.0, 3.0])
@pytest.mark.parametrize(("theta", "power"), [growth for growth in GROWTHS if growth[1]])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_slots_grow_as_well_and_blocks_have_whole_ones(theta, power, rounds, first):
    """L of the order of T^(power theta) after T rounds, as Theorems 4 and 6 have it for a horizon of T.

    There are about as many blocks as without slots; fewer if the slots would be longer than these, but no block gets more
    than `first` times as long.
    """
    span, plain = growing(theta, power, first).until(rounds), growing(theta).until(rounds)
    check_span(span, rounds)
    assert np.all((span.end - span.first) % span.slot == 0), "a block has whole slots"
    assert np.all(np.abs(span.slot - first * (span.number + 1.0) ** float(power)) <= 0.5)
    assert span.slot.max() == growing(theta, power, first).longest_slot(rounds)
    if rounds >= 64:
        blocks, wanted = len(plain.number), rounds ** float(power * theta)
        fewest = blocks / first ** float(theta)
        assert 0.9 * fewest - 1 <= len(span.number) <= 1.1 * blocks + 1
        assert 0.9 * wanted - 0.5 <= span.slot[-1] <= 1.1 * first * wanted + 0.5


def test_with_theta_one_agents_talk_in_every_round():
    span = Growing(1.0).until(50)
    np.testing.assert_array_equal(span.end, np.arange(1, 51))
    assert np.all(span.complete & (span.of_block == 1))
    assert Growing(1.0).most_slots == 1 < Growing(0.99).most_slots


@pytest.mark.parametrize("first", [1.0, 3.0])
@pytest.mark.parametrize(("theta", "power"), GROWTHS)
def test_a_shorter_run_is_the_beginning_of_a_longer_one(theta, power, first):
    timetable = growing(theta, power, first if power else 1.0)
    whole = timetable.until(ROUNDS[-1])
    for rounds in (*ROUNDS[:-1], *range(1, 40)):
        part = timetable.until(rounds)
        check_span(part, rounds)
        for name in ("number", "first", "end", "slot", "of_block"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[: len(part.number)])
        assert np.all(part.slots <= whole.slots[: len(part.number)])
        assert np.all(part.complete[:-1]), "only the last block of a run can be incomplete"


@pytest.mark.parametrize(("theta", "power"), GROWTHS)
def test_the_first_blocks_do_not_depend_on_how_many_are_asked_for(theta, power):
    timetable = growing(theta, power)
    few, many = timetable.blocks(5), timetable.blocks(9)
    for short, long in zip(few, many, strict=True):
        np.testing.assert_array_equal(short, long[:5])
    assert np.all(many.complete)
    np.testing.assert_array_equal(many.slots, many.of_block)
    assert timetable.last is None
    assert timetable.slots_grow == (power > 0)


@pytest.mark.parametrize(
    ("block", "slot", "horizon"), [(1, 1, 1), (5, 1, 37), (6, 1, 36), (3, 4, 37), (3, 4, 38), (2, 3, 36), (40, 1, 36)]
)
def test_equal_blocks_up_to_a_horizon(block, slot, horizon):
    timetable = Equal(block, slot, horizon)
    whole = timetable.until(horizon)
    check_span(whole, horizon)
    length = block * slot
    assert len(whole.number) == -(-horizon // length)
    assert np.all(whole.complete), "the last block is shorter, but nothing of it is missing"
    assert whole.end[-1] == timetable.last == horizon
    assert np.all((whole.end - whole.first)[:-1] == length)
    assert np.all(whole.slot == slot)
    for rounds in range(1, horizon):
        part = timetable.until(rounds)
        check_span(part, rounds)
        for name in ("number", "first", "end", "slot", "of_block"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[: len(part.number)])


def test_a_run_may_end_within_a_block_and_within_a_slot():
    """Blocks of 3 slots of 4 rounds."""
    timetable = Equal(3, 4, 60)
    played = {rounds: timetable.until(rounds) for rounds in (12, 13, 16, 17, 23, 24)}
    assert {rounds: span.slots.tolist() for rounds, span in played.items()} == {
        12: [3], 13: [3, 1], 16: [3, 1], 17: [3, 2], 23: [3, 3], 24: [3, 3],
    }  # fmt: skip
    assert {rounds: int(span.complete.sum()) for rounds, span in played.items()} == {
        12: 1,
        13: 1,
        16: 1,
        17: 1,
        23: 1,
        24: 2,
    }


@pytest.mark.parametrize(
    ("timetable", "rounds"),
    [
        (Equal(3, 4, 37), 37),
        (Equal(3, 4, 60), 30),
        (Growing(0.5, 0.5), 35),
        (Growing(2 / 3, 0.5, 3.0), 26),
        (Growing(0.6), 26),
    ],
)
def test_slots_cover_the_rounds_of_their_block(timetable, rounds):
    """Every round is played in one slot; a slot that begins after the run, or after its block, is not played."""
    keys, seen = Keys(jax.random.key(0), jax.random.key(1)), []
    spans, most = timetable.until(rounds), timetable.longest_slot(rounds)
    for place in range(len(spans.number)):
        span = spans.at(place)
        for index in range(int(span.of_block) + 2):
            slot = span.slot_at(index, keys, most)
            assert (int(slot.block_start), int(slot.of_block), int(slot.full)) == (span.first, span.of_block, span.slot)
            assert slot.most == most >= slot.full >= slot.length
            assert (int(slot.length) > 0) == (index < span.slots)
            seen += range(int(slot.start), int(slot.start) + int(slot.length))
    last = seen[-1] + 1
    assert seen == list(range(last)), "rounds are played once, and in order"
    assert rounds <= last < rounds + most, "the last slot of a run is played to its end"


@pytest.mark.parametrize(
    ("model", "theta", "power"),
    [("full_information", 1.0, 0.0), ("semi_bandit", 2 / 3, 0.5), ("bandit", 0.8, 0.25), ("zeroth_order", 0.5, 0.0)],
)
def test_the_default_has_the_timetable_of_its_row(model, theta, power):
    setting, model = PROBLEMS["A2"].setting, getattr(feedback, model)()
    found = Droculo.design(setting, model, theta=theta)
    assert found.horizon is None
    first = found.timetable.first
    assert found.timetable == Growing(theta, power, first)
    assert (first > 1) == (power > 0), "the first slots are longer only where a query has to be played"
    assert Droculo.design(setting, model, theta=theta, horizon=12).timetable == found.timetable


def test_one_exchange_however_long_the_run_is_no_timetable():
    setting = PROBLEMS["A2"].setting
    with pytest.raises(ValueError, match="theta = 0 means one exchange in all"):
        Droculo.design(setting, feedback.full_information(), theta=0.0)
    assert (
        len(Droculo.prescribed(setting, feedback.full_information(), theta=0.0, horizon=9).timetable.until(9).number)
        == 1
    )
