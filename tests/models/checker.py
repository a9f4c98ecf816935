"""A small explicit-state model checker.

A model has four methods. `initial()` returns the first state, `successors(state)` yields pairs of a label and the
next state, `violation(state)` returns the text of a broken invariant or None, and `after_recovery(state)` returns
the same for the state that the sweeps alone reach once every caller has died. States are hashable values.

The search is breadth first, so a counter-example is a shortest one.
"""

from collections import deque
from dataclasses import dataclass
from time import perf_counter


@dataclass
class Result:
    """The outcome of one search."""

    violation: str | None
    trace: list
    states: int
    seconds: float
    complete: bool


def explore(model, limit):
    """Explores all reachable states, or stops at the first violation or at `limit` states."""
    began = perf_counter()
    first = model.initial()
    parents = {first: None}
    queue = deque([first])
    recovered = {}

    def result(violation, state, complete=True):
        trace = []
        while state is not None and parents[state] is not None:
            state, label = parents[state]
            trace.append(label)
        return Result(violation, trace[::-1], len(parents), perf_counter() - began, complete)

    while queue:
        state = queue.popleft()
        violation = model.violation(state)
        if violation is None:
            # Many states differ only in their callers, which recovery takes away.
            key = model.survivors(state)
            if key not in recovered:
                recovered[key] = model.after_recovery(key)
            violation = recovered[key]
        if violation is not None:
            return result(violation, state)
        if len(parents) > limit:
            return result(None, None, complete=False)
        for label, following in model.successors(state):
            if following not in parents:
                parents[following] = (state, label)
                queue.append(following)
    return result(None, None)
