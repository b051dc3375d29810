"""What the methods of the literature that DROCULO is compared with have in common."""

import equinox as eqx
import jax
from jax import Array

from droculo.algorithms.contract import Algorithm, Ports, Slot, SlotPlay, numbers
from droculo.feedback import Feedback, full_information
from droculo.linearizations import Linearization
from droculo.sets import Set


class Rival(Algorithm):
    """It asks for gradients anywhere, in slots of one round, and every exchange sends one vector."""

    domain: Set
    horizon: int = eqx.field(static=True)
    block: int = eqx.field(static=True, default=1, kw_only=True)
    slot: int = eqx.field(static=True, default=1, kw_only=True)

    @property
    def feedback(self) -> Feedback:
        return full_information()

    @property
    def message(self) -> jax.ShapeDtypeStruct:
        return numbers(self.domain.dim)


class EveryRound(Rival):
    """It moves in every round, after one exchange, by the linearization's signal at its decision."""

    linearization: Linearization

    @property
    def exchanges(self) -> int:
        return 1

    def play(self, ports: Ports, state: eqx.Module | Array, slot: Slot) -> tuple[Array, SlotPlay]:
        x, h = self.decision(state), self.linearization
        z = h.quantile(jax.random.uniform(jax.random.fold_in(slot.keys.own, slot.start), (), x.dtype))
        played = SlotPlay(h.action(x)[None], slot.start[None], h.query(x, z)[None])
        return h.pull(x, z, ports.ask(played, 1).asked[0]), played
