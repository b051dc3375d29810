"""How rows travel between processes: the contract in `base`, and transports for threads, MPI and Zenoh."""
