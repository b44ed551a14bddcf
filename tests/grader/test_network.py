"""The priced network: what messages take on it, by hand and against the definition."""

import networkx as nx  # type: ignore[import-untyped,unused-ignore]
import pytest

from grader.network import Network, NetworkError, Receive, Send, ring, servers, switch


def test_a_message_takes_alpha_and_its_bytes() -> None:
    price = Network(switch(2, 100, 3), 2).price([[Send(1, 10)], [Receive(0)]])
    assert (price.total_ps, price.rank_ps, price.sent, price.messages) == (130, (0, 130), (10, 0), (1, 0))


def test_a_rank_sends_and_receives_at_once_but_one_of_each_at_a_time() -> None:
    network = Network(switch(3, 100, 1), 3)
    both = network.price([[Send(1, 50), Receive(1)], [Send(0, 50), Receive(0)], []])
    assert both.total_ps == 150
    out = network.price([[Send(1, 50), Send(2, 50)], [Receive(0)], [Receive(0)]])
    assert out.total_ps == 300
    into = network.price([[Receive(1), Receive(2)], [Send(0, 50)], [Send(0, 50)]])
    assert into.total_ps == 300


def test_who_has_waited_longer_goes_first() -> None:
    # Rank 1 comes to its second message for rank 0 later than rank 2 to its first one.
    steps: list[list[Send | Receive]] = [
        [Receive(1), Receive(2), Receive(1)],
        [Send(0, 10), Send(0, 10)],
        [Send(0, 500)],
    ]
    price = Network(switch(3, 100, 1), 3).price(steps)
    assert price.rank_ps[0] == 110 + 600 + 110
    assert price.total_ps == 820


def test_a_receive_waits_for_what_its_sender_has_received() -> None:
    steps: list[list[Send | Receive]] = [[Send(1, 5)], [Receive(0), Send(2, 5)], [Receive(1)]]
    assert Network(switch(3, 10, 1), 3).price(steps).total_ps == 30


def test_messages_of_a_ring_pass_through_the_ranks_between() -> None:
    network = Network(ring(5, 10, 1), 5)
    assert network.route(0, 2).alpha_ps == 20
    assert network.route(0, 4).alpha_ps == 10
    shared = network.price([[Send(2, 90)], [Send(2, 90)], [Receive(0), Receive(1)], [], []])
    assert shared.total_ps == 100 + 110  # Rank 1's goes first: both could start, and 0 has no longer waited.


def test_the_link_out_of_a_server_is_one_for_all_of_its_ranks() -> None:
    network = Network(servers(2, 2, (10, 1), (100, 5)), 4)
    assert network.route(0, 1).duration(10) == 20
    alone = network.route(0, 2).duration(10)
    assert alone == network.price([[Send(2, 10)], [], [Receive(0)], []]).total_ps
    both = network.price([[Send(2, 10)], [Send(3, 10)], [Receive(0)], [Receive(1)]])
    assert both.total_ps == 2 * alone


def test_faults_of_a_topology_are_named() -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, alpha_ps=1, byte_ps=1)
    with pytest.raises(NetworkError, match="no path from rank 1 to rank 0"):
        Network(graph, 2)
    graph.add_edge(1, 0, alpha_ps=0, byte_ps=1)
    with pytest.raises(NetworkError, match="alpha_ps is 0"):
        Network(graph, 2)
    with pytest.raises(NetworkError, match="rank 2 is no node"):
        Network(graph, 3)


def test_a_receive_without_a_message_has_no_price() -> None:
    with pytest.raises(ValueError, match="no message"):
        Network(switch(2, 1, 1), 2).price([[Receive(1)], []])
