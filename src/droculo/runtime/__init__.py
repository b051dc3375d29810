"""Driver 2: real agents, in processes of their own, over MPI, over Zenoh, or in your own loop."""

from droculo.runtime.agent import Agent, Move
from droculo.runtime.endpoints import TLS
from droculo.runtime.gather import Faults, Together, gather
from droculo.runtime.memory import Hub, MemoryTransport
from droculo.runtime.mpi import MPITransport
from droculo.runtime.part import Part, take_part
from droculo.runtime.places import Place, place_of, split
from droculo.runtime.transport import Meter, Transport
from droculo.runtime.zenoh import ZenohTransport

__all__ = [
    "TLS",
    "Agent",
    "Faults",
    "Hub",
    "MPITransport",
    "MemoryTransport",
    "Meter",
    "Move",
    "Part",
    "Place",
    "Together",
    "Transport",
    "ZenohTransport",
    "gather",
    "place_of",
    "split",
    "take_part",
]
