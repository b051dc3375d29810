"""One of several processes: plays its part of every case, over Zenoh and then over MPI, and leaves what it did.

Over Zenoh first, since a process that waits for another to compile sleeps there; over MPI it would keep a processor busy.

mpiexec -n 4 python -m tests.runtime.member OUT ENDPOINTS(json)
"""

import json
import sys
from pathlib import Path

from mpi4py import MPI
from tests.runtime.cases import CASES, KEY

from droculo import networks
from droculo.runtime import MPITransport, ZenohTransport, assign_agents, partition, run_process
from droculo.testing import check_transport


def leave(folder, part):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part.partition.me}.bin").write_bytes(part.layout.join(part.entries))
    (folder / f"{part.partition.me}.json").write_text(json.dumps(vars(part.meter)))


def main():
    out, where = Path(sys.argv[1]), {int(me): at for me, at in json.loads(sys.argv[2]).items()}
    world = MPI.COMM_WORLD
    me, processes = world.Get_rank(), world.Get_size()
    transports = {
        "zenoh": lambda place, name: ZenohTransport(me, where, place.neighbours, run=name),
        "mpi": lambda place, name: MPITransport(world, place.neighbours),
    }
    star = partition(networks.from_graph(networks.star(processes)), assign_agents(processes, processes), me)
    for make in transports.values():
        check_transport(make(star, "check"))
    for name, (problem, algorithm, network) in CASES.items():
        place = partition(network, assign_agents(network.n_agents, processes), me)
        for over, make in transports.items():  # one program serves both
            part = run_process(problem, algorithm, network, place, make(place, name), key=KEY)
            leave(out / over / name, part)


if __name__ == "__main__":
    main()
