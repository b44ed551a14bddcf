"""The tables of states: complete, without dead ends, and final where they say so."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from server.grading.states import (
    ATTEMPT_TRANSITIONS,
    FINAL,
    OPEN,
    SUBMISSION_TRANSITIONS,
    AttemptEvent,
    AttemptState,
    SubmissionEvent,
    SubmissionState,
    TransitionError,
    next_attempt,
    next_submission,
)


def _reachable(start: str, edges: Sequence[tuple[str, str]]) -> set[str]:
    found, new = {start}, {start}
    while new:
        new = {target for source, target in edges if source in new} - found
        found |= new
    return found


def test_every_submission_can_end_and_every_state_is_reached() -> None:
    edges = [(source, target) for (source, _), target in SUBMISSION_TRANSITIONS.items()]
    assert _reachable(SubmissionState.QUEUED, edges) == set(SubmissionState)
    for state in SubmissionState:
        assert _reachable(state, edges) & FINAL
    assert {event for _, event in SUBMISSION_TRANSITIONS} == set(SubmissionEvent)
    assert {event for state, event in SUBMISSION_TRANSITIONS if state in FINAL} == {SubmissionEvent.RERUN}


def test_an_attempt_ends_once() -> None:
    edges = [(source, target) for (source, _), target in ATTEMPT_TRANSITIONS.items()]
    assert _reachable(AttemptState.PUBLISHED, edges) == set(AttemptState)
    assert {source for source, _ in edges} == OPEN
    assert {event for _, event in ATTEMPT_TRANSITIONS} == set(AttemptEvent)


@given(st.lists(st.sampled_from(list(SubmissionEvent)), max_size=40))
def test_whatever_happens_a_submission_is_dispatched_once_before_it_is_graded(
    events: list[SubmissionEvent],
) -> None:
    state = SubmissionState.QUEUED
    dispatched = 0
    for event in events:
        try:
            state = next_submission(state, event)
        except TransitionError:
            continue
        dispatched += event is SubmissionEvent.DISPATCH
        if event in {SubmissionEvent.REPORT, SubmissionEvent.RETURN}:
            assert dispatched == 1
            dispatched = 0
        elif event in {SubmissionEvent.CANCEL, SubmissionEvent.GIVE_UP}:
            dispatched = 0
        assert dispatched <= 1


@given(st.lists(st.sampled_from(list(AttemptEvent)), max_size=20))
def test_whatever_happens_a_token_never_becomes_current_again(events: list[AttemptEvent]) -> None:
    state = AttemptState.PUBLISHED
    was_open = True
    for event in events:
        try:
            state = next_attempt(state, event)
        except TransitionError:
            continue
        assert was_open or not state.is_open
        was_open = state.is_open
