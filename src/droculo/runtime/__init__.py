"""Driver 2: real agents, in processes of their own, over MPI, over Zenoh, or in your own loop."""

from droculo.runtime.agent import Agent, Query
from droculo.runtime.endpoints import TLS
from droculo.runtime.gather import Faults, GatheredRun, gather
from droculo.runtime.memory import Hub, MemoryTransport
from droculo.runtime.mpi import MPITransport
from droculo.runtime.part import ProcessRun, run_process
from droculo.runtime.places import Partition, assign_agents, partition
from droculo.runtime.transport import Meter, Transport
from droculo.runtime.zenoh import ZenohTransport

__all__ = [
    "TLS",
    "Agent",
    "Faults",
    "GatheredRun",
    "Hub",
    "MPITransport",
    "MemoryTransport",
    "Meter",
    "Partition",
    "ProcessRun",
    "Query",
    "Transport",
    "ZenohTransport",
    "assign_agents",
    "gather",
    "partition",
    "run_process",
]
