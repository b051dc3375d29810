"""One process of the tests: plays its part of every case, and leaves what it did.

mpiexec -n 4 python -m tests.runtime.member mpi OUT
python -m tests.runtime.member zenoh OUT ME ENDPOINTS(json)
"""

import json
import sys
from pathlib import Path

from tests.runtime.cases import CASES, KEY

from droculo import networks
from droculo.runtime import MPITransport, ZenohTransport, place_of, split, take_part
from droculo.testing import check_transport


def leave(folder, part):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part.place.me}.bin").write_bytes(part.layout.join(part.entries))
    (folder / f"{part.place.me}.json").write_text(json.dumps(vars(part.meter)))


def play(transport_to, me, processes, out):
    star = networks.connect(networks.star(processes))
    place = place_of(star, split(processes, processes), me)
    check_transport(transport_to(place, "check"))
    for name, (problem, algorithm, network) in CASES.items():
        place = place_of(network, split(network.n_agents, processes), me)
        part = take_part(problem, algorithm, network, place, transport_to(place, name), key=KEY)
        leave(out / name, part)


def main():
    over, out = sys.argv[1], Path(sys.argv[2])
    if over == "mpi":
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        play(lambda place, name: MPITransport(world, place.neighbours), world.Get_rank(), world.Get_size(), out)
        return
    me, where = int(sys.argv[3]), {int(k): v for k, v in json.loads(sys.argv[4]).items()}
    play(lambda place, name: ZenohTransport(me, where, place.neighbours, run=name), me, len(where), out)


if __name__ == "__main__":
    main()
