"""What follows from parameters, and from what was learned, made once and kept until it changes."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from thresher.engine import Candidate, Candidates, Method, StreamState, named
from thresher.estimators.parameters import are_the_same, given_to

# Kept here, so that models stay free of them.
_PLANS: WeakKeyDictionary[Any, tuple[tuple[int, bool], tuple[Any, ...], Candidates[Any]]] = (
    WeakKeyDictionary()
)
_METHODS: WeakKeyDictionary[Any, tuple[Candidates[Any], str, float, Any]] = WeakKeyDictionary()
_FITTED: WeakKeyDictionary[Any, tuple[StreamState, Candidates[Any], dict[Any, Any]]] = (
    WeakKeyDictionary()
)


class PlannedModel:
    """A model whose parameters become a plan, and whose state and plan become a method."""

    _state: StreamState

    @abstractmethod
    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Any]:
        """What the parameters come to, for samples in their own or in random order."""

    def _planned(self, n_components: int, in_order: bool = True) -> Candidates[Any]:
        """The plan, made once for the parameters as they are."""
        use, given, known = (n_components, in_order), given_to(self), _PLANS.get(self)
        if known is None or known[0] != use or not are_the_same(known[1], given):
            known = _PLANS[self] = (use, given, self._plan(n_components, in_order))
        return known[2]

    def _chosen(self, state: StreamState) -> Candidate[Any]:
        """The candidate that a state began with."""
        return named(self._planned(len(state.D)), state.method)

    def _fitted_method(self) -> Method:
        """The parts that the fitted dictionary was learned with, in the unit of the state."""
        method: Method = self._method_of(self._state)
        return method

    def _method_of(self, state: StreamState, in_order: bool = True) -> Any:
        """The method that a state began with, bound to its unit once for parameters and unit."""
        plan, known = self._planned(len(state.D), in_order), _METHODS.get(self)
        use = plan, state.method, state.unit
        if known is None or known[0] is not plan or known[1:3] != use[1:]:
            known = _METHODS[self] = (*use, named(plan, state.method).method.in_unit_of(state))
        return known[3]

    def _fitted(self, what: Any, make: Callable[[], Any]) -> Any:
        """Something that follows from state and plan, made once for them."""
        state, plan = self._state, self._planned(len(self._state.D))
        known = _FITTED.get(self)
        if known is None or known[0] is not state or known[1] is not plan:
            known = _FITTED[self] = (state, plan, {})
        if what not in known[2]:
            known[2][what] = make()
        return known[2][what]
