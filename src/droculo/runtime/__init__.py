"""Driver 2: agents in separate processes, over MPI, over Zenoh, or in your own loop."""

from droculo.runtime.agent import Agent, Query
from droculo.runtime.driver import ProcessRun, run_process
from droculo.runtime.gathered import Faults, GatheredRun, gather
from droculo.runtime.partitions import Partition, assign_agents, partition
from droculo.runtime.transports.base import Meter, Transport
from droculo.runtime.transports.endpoints import TLS
from droculo.runtime.transports.memory import Hub, MemoryTransport
from droculo.runtime.transports.mpi import MPITransport
from droculo.runtime.transports.zenoh import ZenohTransport

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
