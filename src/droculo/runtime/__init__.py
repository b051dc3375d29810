"""Driver 2: agents in separate processes, over MPI, over Zenoh, or in your own loop."""

from droculo.runtime.agent import Agent, Query
from droculo.runtime.driver import run_process
from droculo.runtime.gathered import gather
from droculo.runtime.partitions import assign_agents, partition
from droculo.runtime.transports.base import Transport
from droculo.runtime.transports.endpoints import TLS
from droculo.runtime.transports.memory import MemoryTransport
from droculo.runtime.transports.mpi import MPITransport
from droculo.runtime.transports.zenoh import ZenohTransport

__all__ = ["TLS", "Agent", "MPITransport", "MemoryTransport", "Query", "Transport", "ZenohTransport"]
__all__ += ["assign_agents", "gather", "partition", "run_process"]
