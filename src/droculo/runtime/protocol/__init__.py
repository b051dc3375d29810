"""How processes without a common MPI agree on their links: frames, and the rules that they follow. No sockets, no clock."""
