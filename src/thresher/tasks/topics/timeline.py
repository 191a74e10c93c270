"""Topics over time: what all steps came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.linalg import Array
from thresher.tasks.topics.changes import TopicEvent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thresher.tasks.topics.watching import TopicStep

_SHOWN = 16  # topics in a picture; by judgement


class TopicsOverTime:
    """Steps of a stream, and the topics that lived in them.

    Parameters
    ----------
    steps : list of TopicStep
        What `TopicModel.watch` gave.

    Attributes
    ----------
    steps : list of TopicStep
    numbers : list of int
        Of all topics that ever lived, in the order in which they came.
    names : list of str
        Their names.
    shares : array of shape (n_steps, n_topics)
        Mean shares; zero where a topic did not live.
    n_documents : array of shape (n_steps,)
    events : list of TopicEvent
    """

    def __init__(self, steps: list[TopicStep]) -> None:
        if not steps:
            raise ValueError("There are no documents; give at least one.")
        self.steps = steps
        named = {
            number: name
            for step in steps
            for number, name in zip(step.numbers, step.names, strict=True)
        }
        self.numbers = sorted(named)
        self.names = [named[number] for number in self.numbers]
        place = {number: column for column, number in enumerate(self.numbers)}
        self.shares: Array = np.zeros((len(steps), len(named)))
        for row, step in zip(self.shares, steps, strict=True):
            row[[place[number] for number in step.numbers]] = step.shares
        self.n_documents = np.array([step.n_documents for step in steps])
        self.events: list[TopicEvent] = [event for step in steps for event in step.events]

    def __repr__(self) -> str:
        return (
            f"TopicsOverTime({len(self.steps)} steps, {len(self.names)} topics, "
            f"{len(self.events)} events)"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists, for JSON; shares by the name of the topic."""
        return {
            "steps": [step.name for step in self.steps],
            "documents": self.n_documents.tolist(),
            "scores": [None if step.start else step.score for step in self.steps],
            "shares": dict(zip(self.names, self.shares.T.tolist(), strict=True)),
            "events": [event._asdict() for event in self.events],
        }

    def plot(self) -> Figure:
        """A row for each topic, the largest and those with events, and marks for events."""
        # Pictures are drawn with matplotlib, which learning does not need.
        from thresher.plotting import share_rows

        rank = self.shares.max(axis=0)
        with_events = {number for event in self.events for number in event.topics}
        order = sorted(
            range(len(self.names)), key=lambda k: (self.numbers[k] not in with_events, -rank[k])
        )[:_SHOWN]
        shown = sorted(order)
        row_of = {self.numbers[k]: row for row, k in enumerate(shown)}
        step_of = {step.name: place for place, step in enumerate(self.steps)}
        marks = [
            (row_of[number], step_of[event.step], event.kind)
            for event in self.events
            for number in event.topics
            if number in row_of
        ]
        names = [step.name for step in self.steps]
        return share_rows([self.names[k] for k in shown], names, self.shares[:, shown].T, marks)
