# solmark: verdict=output_limit
# An all-gather of all tokens, again for every expert: nobody has to think about who needs what.


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    for _ in range(40 * count):
        for rank in range(comm.size):
            if rank != comm.rank:
                comm.send(rank, x)
    received[0] = 0


def combine(comm, experts, sources, y, out, *, count):
    out[...] = 0
