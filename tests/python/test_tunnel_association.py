"""The tunnel over SCTP in simulations: everything arrives, bursts save energy, and a seed decides a run."""

import pytest

from airwatt import Scenario, laboratory


def run(association: str, **keys):
    tunnel = {"burst": 5, "delay_budget": "10ms", "association": association}
    scenario = Scenario.of({"base": "tunnel", "duration": "3s", "tunnel": tunnel, **keys})
    return laboratory.run(scenario, seed=1)


@pytest.mark.parametrize("association", ["sctp", "sctp-reliable"])
def test_flows_pass_in_bursts(association):
    result = run(association)
    direct = run("datagrams")
    (tunnel,) = result.tunnels
    assert tunnel.up.packets_per_burst > 2
    assert tunnel.up.dropped == 0
    assert sum(flow.segments_retransmitted for flow in result.flows) == 0
    delivered = [sum(flow.bytes_delivered for flow in one.flows) for one in (result, direct)]
    assert delivered[0] == pytest.approx(delivered[1], rel=0.01)
    # The acknowledgements of SCTP cost what they cost, and no more than a tenth.
    power = [one.stations[0].average_power_w for one in (result, direct)]
    assert power[1] < power[0] < 1.1 * power[1]


def test_a_seed_decides_a_run():
    first, second = run("sctp").to_dict(), run("sctp").to_dict()
    assert first["tunnels"] == second["tunnels"]
    assert first["stations"] == second["stations"]


def test_an_unknown_association_is_one_line(airwatt):
    answer = airwatt("run", "tunnel", "--set", "tunnel.association=tcp")
    assert answer.status == 2
    assert answer.is_one_line("tunnel.association")
