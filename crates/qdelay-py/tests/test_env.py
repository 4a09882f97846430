"""QueueEnv: a queue as an environment of gymnasium."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import qdelay  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv  # noqa: E402
from qdelay.env import Observation, QueueEnv, score  # noqa: E402

BODE = {"qdisc.target": ("2ms", "200ms")}


def make(**changes: Any) -> QueueEnv:
    return QueueEnv(**{"actions": BODE, "link": "10mbit", "rtt": "40ms", "duration": "5s", **changes})


def episode(env: QueueEnv, share: float | None, seed: int = 1) -> tuple[list[Observation], float]:
    """Runs all steps with this action, or with actions drawn by the seed; returns the steps and the sum of rewards."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    seen, total, over = [], 0.0, False
    while not over:
        action: Any = env.action_space.sample() if share is None else np.full(len(env.actions), share, np.float32)
        _, reward, terminated, over, info = env.step(action)
        assert not terminated
        seen.append(info["all"])
        total += float(reward)
    return seen, total


@pytest.mark.filterwarnings("error")
def test_it_is_an_environment() -> None:
    check_env(make(), skip_render_check=True)


def test_it_is_registered() -> None:
    env = gymnasium.make("qdelay/Queue-v0", actions=BODE, link="10mbit", duration="1s")
    env.reset(seed=1)
    assert isinstance(env.unwrapped, QueueEnv)


def test_the_same_seed_is_the_same_episode() -> None:
    many = {"link": (), "trace": ["synth-lte-driving", "synth-subway"], "transport": ["cubic", "bbr"]}
    first, again, other = (episode(make(**many), None, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_observations_are_of_the_step() -> None:
    env = make(qdisc="taildrop", actions={"qdisc.limit": ("50", "51")})
    seen, _ = episode(env, 0.0)
    assert len(seen) == 500
    late = seen[200:]
    assert all(step.capacity_mbps == pytest.approx(10, abs=0.01) for step in late)
    assert np.mean([step.rate_mbps for step in late]) == pytest.approx(10, abs=0.3)
    # 50 packets of 1500 bytes at 10 Mbit/s are 60 ms.
    assert 20 < np.mean([step.queue_delay_ms for step in late]) < 61
    assert max(step.backlog_packets for step in seen) <= 51
    assert 0 < sum(step.drops for step in seen) == env.figures()["drops"]
    assert [step.over for step in seen] == [False] * 499 + [True]


def test_an_action_changes_the_queue_and_keeps_it() -> None:
    low, high = (episode(make(), share)[0] for share in (0.1, 1.0))
    mean = [np.mean([step.queue_delay_ms for step in seen]) for seen in (low, high)]
    assert mean[0] < mean[1] / 3
    # A constant parameter is no change: the run is that of the command.
    env = make(qdisc="codel", transport="cubic", actions={"qdisc.target": ("5ms", "50ms")}, starts="fixed")
    env.reset(options={"case": 0})
    for _ in range(100):
        env.step(np.zeros(1, np.float32))
    figures = env.figures()
    plain = qdelay.compare(link="10mbit", qdisc="codel", transport="cubic", rtt="40ms", duration="5s", warmup="0s")
    assert figures["drops"] == plain.frame()["drops"][0]


def test_values_between_the_bounds() -> None:
    env = make()
    assert [env.value("qdisc.target", share) for share in (0, 0.5, 1)] == pytest.approx([0.002, 0.02, 0.2])
    env = make(qdisc="pie", actions={"qdisc.alpha": ("0", "1"), "qdisc.limit": ("10", "1000")})
    assert env.value("qdisc.alpha", 0.25) == 0.25
    assert env.value("qdisc.limit", 0.5) == 100


def test_a_sender_is_driven() -> None:
    driven = {"transport": "driven", "qdisc": "taildrop"}
    seen, _ = episode(make(**driven, actions={"control.window": ("2", "100")}), 0.0)
    # Two segments of 1500 bytes each 40 ms, plus their own transmission time.
    assert np.mean([step.rate_mbps for step in seen[100:]]) == pytest.approx(2 * 1500 * 8 / 41.2e-3 / 1e6, rel=0.1)
    paced = {"control.window": ("2", "1000"), "control.rate": ("1mbit", "5mbit")}
    seen, _ = episode(make(**driven, actions=paced), 1.0)
    assert np.mean([step.rate_mbps for step in seen[100:]]) == pytest.approx(5, rel=0.1)
    assert np.mean([step.queue_delay_ms for step in seen[100:]]) < 3


@pytest.mark.parametrize("rate", [1, 5, 20, 45])
def test_a_set_rate_is_reached(rate: int) -> None:
    """Without a window among the actions the rate alone decides what is sent."""
    driven = {"transport": "driven", "qdisc": "taildrop", "link": "50mbit", "rtt": "40ms"}
    seen, _ = episode(make(**driven, actions={"control.rate": ("500kbit", f"{rate}mbit")}), 1.0)
    assert np.mean([step.rate_mbps for step in seen[100:]]) == pytest.approx(rate, rel=0.05)
    assert np.mean([step.queue_delay_ms for step in seen[100:]]) < 3


def test_an_initial_window_is_heeded() -> None:
    """The initial window stays if no action sets the window, and is refused beside such an action."""

    def rate(transport: str) -> float:
        env = make(transport=transport, qdisc="bode", link="50mbit")
        return float(np.mean([step.rate_mbps for step in episode(env, 1.0)[0][100:]]))

    assert rate("driven") == pytest.approx(10 * 1500 * 8 / 40.3e-3 / 1e6, rel=0.1)
    assert rate("driven:iw=20") == pytest.approx(2 * rate("driven"), rel=0.1)
    with pytest.raises(qdelay.InputError, match="'driven:iw=20': iw has no effect where control.window is an action"):
        make(transport="driven:iw=20", actions={"control.window": ("2", "100")})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": {"qdisc.tarjet": ("2ms", "3ms")}}, "bode has no parameter 'tarjet'; expected one of target"),
        ({"actions": {"qdisc.target": ("2", "3ms")}}, "qdisc.target: 2: .*such as 20ms"),
        ({"actions": {"qdisc.target": ("3ms", "2ms")}}, "is not below"),
        ({"actions": {"window": ("2", "3")}}, "expected qdisc.PARAMETER, control.window or control.rate"),
        ({"actions": {"control.window": ("2", "3")}}, 'expected transport="driven"'),
        (
            {"qdisc": "fq_codel", "actions": {"qdisc.target": ("2ms", "3ms")}},
            "fq_codel takes no new parameters during a run; expected one of taildrop, codel, pie, bode",
        ),
        ({"step": "0s"}, "step: .*above 0"),
        ({"seen": ["delay"]}, "seen: 'delay' is given; expected names of queue_delay_ms"),
        ({"qdisc": "bodo"}, "did you mean 'bode'"),
    ],
)
def test_mistakes_are_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(qdelay.InputError, match=message):
        make(**changes)


def test_actions_out_of_their_range() -> None:
    env = make()
    with pytest.raises(qdelay.InputError, match="nothing runs; expected reset before it"):
        env.step(np.zeros(1, np.float32))
    env.reset(seed=1)
    with pytest.raises(qdelay.InputError, match="is no finite number"):
        env.step(np.array([np.nan], np.float32))
    with pytest.raises(qdelay.InputError, match="2 values for 1 actions"):
        env.step(np.zeros(2, np.float32))
    env.step(np.array([7], np.float32))


def test_it_runs_in_processes() -> None:
    parts = [partial(make, seen=("queue_delay_ms", "rate_mbps"), reward=score) for _ in range(2)]
    together = AsyncVectorEnv(parts, context="spawn")
    alone = SyncVectorEnv(parts)
    try:
        for env in (together, alone):
            env.action_space.seed(1)
        first, _ = together.reset(seed=[1, 2])
        second, _ = alone.reset(seed=[1, 2])
        assert np.array_equal(first, second)
        for _ in range(20):
            actions = alone.action_space.sample()
            ours, theirs = together.step(actions), alone.step(actions)
            assert np.array_equal(ours[0], theirs[0])
            assert np.array_equal(ours[1], theirs[1])
    finally:
        together.close()
        alone.close()


def test_a_copy_begins_anew() -> None:
    copy = pickle.loads(pickle.dumps(make(reward=score)))
    assert episode(copy, 0.5) == episode(make(), 0.5)


def test_numbers_of_seconds_and_plain_actions() -> None:
    text, numbers = make(seen="rate_mbps"), make(seen=["rate_mbps"], rtt=0.04, duration=5, step=0.01)
    for env in (text, numbers):
        env.reset(seed=3)
    for share in (0.2, 0.9, 0.5):
        one, other = text.step(np.array([share], np.float32)), numbers.step([float(np.float32(share))])
        assert one[4]["all"] == other[4]["all"]
    numbers.step(0.5)
    with pytest.raises(qdelay.InputError, match="step: True: expected text with a unit"):
        make(step=True)


def test_several_times_of_a_keyword_lead_to_an_axis() -> None:
    with pytest.raises(qdelay.InputError, match=r"expected one time; several are an axis of a scenario: rtt = \[\.\.\.\]"):
        qdelay.compare(link="10mbit", qdisc="codel", transport="cubic", duration="1s", rtt=["10ms", "40ms"])  # type: ignore[arg-type]
