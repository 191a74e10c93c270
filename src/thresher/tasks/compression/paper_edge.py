"""The edge of the paper's own scheme: four steps for each time slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.engine.orthogonal import row_means
from thresher.learning import Progress, random_orthogonal
from thresher.linalg import Array, polar
from thresher.solvers import noncvx_sfw
from thresher.tasks.compression.dictionary_edge import DictionaryEdge
from thresher.tasks.compression.packet import Kind
from thresher.tasks.compression.paper import (
    Codes,
    PaperState,
    read_dictionary,
    written,
    written_dictionary,
)
from thresher.tasks.compression.sender import checked_rows

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec


class PaperEdge(DictionaryEdge):
    r"""Sends what section II-B, example 1, of paper D says; made by ``SensorCodec(mode="paper")``.

    For time slot t, with the dictionary :math:`D_{t-1}` of the edge and :math:`D_c` of the cloud,
    which the edge knows, for one sample y after the other:

    1. Codes :math:`c = T(y D_c^T)`, where T keeps the η₀ largest. As printed, with
       :math:`D_{t-1}`, which is not what decodes them.
    2. If :math:`\|y - c D_c\| > \mathrm{error} \cdot \|y\|`, or the cloud has none, a dictionary
       is sent: :math:`D_c = D_{t-1}`, and y is coded again (not as printed). One that the cloud
       got in this slot is not sent again (as printed, it is).
    3. After the last sample, one step of Algorithm 2 on the slot gives :math:`D_t`.
    4. The cloud recovers :math:`\hat y = c D_c`.

    Silent sensors get the mean of the others, as in section V-C; the cloud is not told.
    """

    def __init__(
        self, codec: SensorCodec, n_sensors: int, start: Any = None, stream: int | None = None
    ) -> None:
        super().__init__(codec, n_sensors, None, None, stream)
        rng = np.random.default_rng(0)
        self._D = random_orthogonal(n_sensors, rng) if start is None else polar(start)
        self._learner = noncvx_sfw().made().make(3, False)
        self._learned: Any = self._learner.begin(np.empty((0, n_sensors)), np.empty(0), self._D)
        self._n_slots = 0
        self.n_packets_ = {"keyframe": 0, "codes": 0, "dictionary": 0}

    @property
    def components_(self) -> Array:
        """The edge's own dictionary, after the last slot."""
        return self._D.copy()

    def send(self, Y: Any) -> list[bytes]:
        """Code rows, slot by slot; the packets have to reach the cloud in this order."""
        Y = checked_rows(Y, self._N).astype(np.float64)
        size = self._codec.rows_per_packet
        return [packet for at in range(0, len(Y), size) for packet in self._slot(Y[at : at + size])]

    def _slot(self, Y: Array) -> list[bytes]:
        present = ~np.isnan(Y)
        filled = row_means(Y, None if present.all() else present)
        packets = self._restart_packets() if self._is_copy else []
        if self._state is None:
            packets.append(self._keyframe(np.empty(0)))
        first, is_new = 0, False
        coded: list[Codes] = []
        for j, y in enumerate(filled):
            codes = self._codes(y)
            if self._passes(y, codes) and (self._codec.as_printed or not is_new):
                packets += self._codes_packets(Y[first:j], coded)
                packets.append(self._dictionary_packet())
                first, is_new, coded = j, True, []
                codes = self._codes(y)
            coded.append(codes)
        packets += self._codes_packets(Y[first:], coded)
        self._learn(filled)
        return packets

    def _codes(self, y: Array) -> Codes:
        """Step 1: positions and values of the largest codes, as they will be sent."""
        state = self._cloud()
        own = self._codec.as_printed or not state.dictionary
        c = (self._D if own else state.D) @ y
        where = np.argsort(-np.abs(c), kind="stable")[: self._codec.n_nonzero]
        return Codes(where, c[where].astype(f"<f{self._codec.number_bytes}"))

    def _passes(self, y: Array, codes: Codes) -> bool:
        """Step 2: whether the error passes the bound."""
        state = self._cloud()
        if not state.dictionary:
            return True
        error = np.linalg.norm(y - state.recovered(codes))
        return bool(error > self._codec.error * np.linalg.norm(y))

    def _learn(self, Y: Array) -> None:
        """Step 3."""
        n, self._n_slots = len(Y), self._n_slots + 1
        sums = self._learner.summarise(self._learned, self._D, Y, np.ones(n))
        progress = Progress(self._n_slots, n, self.n_rows_, 1.0)
        self._D, self._learned = self._learner.learn(self._learned, sums, self._D, progress)

    # ------------------------------------------------------------------- packets

    def _cloud(self) -> PaperState:
        state: PaperState = self._state
        return state

    def _restart_packets(self) -> list[bytes]:
        self._is_copy = False
        if self._state is None:
            return []
        dictionary = self._cloud().dictionary
        packets = [self._keyframe(np.empty(0), gives_up=True)]
        return packets + ([self._dictionary_packet(dictionary)] if dictionary else [])

    def _dictionary_packet(self, payload: bytes = b"") -> bytes:
        if not payload:
            payload = written_dictionary(self._D, self._codec.number_bytes, self._codec.as_printed)
        read_dictionary(self._cloud(), payload)
        self.n_packets_["dictionary"] += 1
        return self._data(Kind.DICTIONARY, payload)

    def _codes_packets(self, Y: Array, coded: list[Codes]) -> list[bytes]:
        """The packet of some rows, if there are any."""
        if not coded:
            return []
        state = self._cloud()
        payload = written(state, coded, self._codec.number_bytes)
        recovered = np.array([state.recovered(codes) for codes in coded])
        self._error += float(np.nansum((recovered - Y) ** 2))
        self._squares += float(np.nansum(Y**2))
        self.n_rows_ += len(Y)
        self.n_packets_["codes"] += 1
        return [self._data(Kind.DATA, payload)]
