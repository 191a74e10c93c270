"""Packets that are lost, doubled or out of order: sent again while the edge has them."""

import numpy as np
import pytest

from sensors import decoded, made_stream, relative_error
from thresher import SensorCodec
from thresher.tasks.compression import Cloud, follower
from thresher.tasks.compression.packet import ANY_STREAM, Kind, packed, unpacked


def streams(batch_size=40, **parameters):
    codec = SensorCodec(error=0.02, batch_size=batch_size, **parameters)
    return codec.edge(8), Cloud()


def test_lost_packets_are_sent_again_and_bring_those_that_waited():
    Y, (edge, cloud) = made_stream()[:240], streams()
    packets = edge.send(Y, times=np.arange(240) * 3600)
    decoded(packets[:2], cloud)
    results = [cloud.receive(packet) for packet in packets[4:]]  # 2 and 3 are lost
    assert all(result.values is None for result in results)
    answer = edge.handle(results[0].request)
    assert answer == packets[2:4]
    first, last = (cloud.receive(packet) for packet in answer)
    assert last.start == first.start + len(first.values)
    assert last.start + len(last.values) == 240
    np.testing.assert_array_equal(last.times, 3600 * np.arange(last.start, 240))
    assert cloud.gaps_ == []
    assert cloud.n_rows_ == 240
    assert edge.n_bytes_["again"] == sum(map(len, answer))


@pytest.mark.parametrize("seed", range(4))
def test_any_order_and_any_doubles_give_the_same_rows(seed):
    rng = np.random.default_rng(seed)
    Y, (edge, cloud) = made_stream()[:400], streams(25)
    packets = edge.send(Y)
    truth = decoded(packets)
    line = [packets[i] for i in [0, *rng.permutation(len(packets)), *rng.integers(0, 17, 9)]]
    values, problems = np.full(Y.shape, np.inf), 0
    for packet in line:
        received = cloud.receive(packet)
        problems += received.problem is not None
        if received.values is not None:
            values[received.start : received.start + len(received.values)] = received.values
    np.testing.assert_array_equal(values, truth)
    assert problems


def test_rows_before_a_keyframe_are_not_given_up_while_the_edge_has_them():
    """A keyframe in the middle of a stream waits, too, unless the edge says that it gave up."""
    edge, cloud = SensorCodec(error=0.02, batch_size=30).edge(3), Cloud()
    Y = made_stream(N=3, missing=0.02)[100:160].copy()
    Y[30:] *= 1e-25  # so small beside the rows before that the stream starts anew
    packets = edge.send(Y)
    starts = [i for i, p in enumerate(packets) if unpacked(p).kind == Kind.KEYFRAME]
    assert len(starts) == 2
    cloud.receive(packets[0])
    early = cloud.receive(packets[starts[1]])
    assert early.values is None
    assert cloud.gaps_ == []
    after = packets[starts[1] + 1 :]
    received = [cloud.receive(packet) for packet in [*edge.handle(early.request), *after]]
    assert cloud.n_rows_ == 60
    assert sum(len(r.values) for r in received if r.values is not None) == 60


def test_the_buffer_is_bounded_and_what_left_it_is_lost_for_good():
    Y = made_stream()
    edge, cloud = streams(30, buffer_size=500)
    packets = edge.send(Y)
    assert 0 < sum(map(len, edge._kept)) <= 500 < sum(map(len, packets))
    first = len(decoded(packets[:2], cloud))
    request = cloud.receive(packets[-1]).request
    answer = edge.handle(request)
    assert [unpacked(packet).kind for packet in answer] == [Kind.KEYFRAME]
    assert cloud.receive(answer[0]).problem is None
    assert cloud.gaps_ == [(first, len(Y))]
    values = decoded(edge.send(Y[:30]), cloud)
    assert relative_error(values, Y[:30]) < 0.1
    assert edge.relative_error_ <= 0.02  # of all that was sent


def test_a_cloud_that_starts_late_gets_all_rows_that_the_edge_still_has():
    Y, (edge, cloud) = made_stream(), streams()
    edge.send(Y[:500])
    result = cloud.receive(edge.send(Y[500:540])[0])
    values = decoded(edge.handle(result.request), cloud)
    assert relative_error(values, Y[:540]) <= 0.02
    assert cloud.gaps_ == []


def test_a_damaged_packet_is_asked_for_by_number_or_by_guess():
    Y, (edge, cloud) = made_stream(), streams()
    packets = edge.send(Y[:80])
    hurt = packets[1][:-1] + bytes([packets[1][-1] ^ 1])
    assert unpacked(Cloud().receive(hurt).request).stream == ANY_STREAM
    assert edge.handle(Cloud().receive(hurt).request) == packets[-1:]
    cloud.receive(packets[0])
    assert edge.handle(cloud.receive(hurt).request) == packets[1:2]


def test_a_packet_that_does_not_help_is_not_asked_for_for_ever():
    """It came whole, and leads to another state: only a keyframe helps."""
    Y, (edge, cloud) = made_stream(), streams()
    packets = edge.send(Y[:120])
    decoded(packets[:2], cloud)
    false = packed(unpacked(packets[2])._replace(digest=7))
    answer = edge.handle(cloud.receive(false).request)
    assert [unpacked(packet).kind for packet in answer] == [Kind.KEYFRAME]


def test_what_waits_is_bounded(monkeypatch):
    cloud = SensorCodec().cloud(max_bytes=2**28)
    edge = SensorCodec(error=0.02, batch_size=1000).edge(1)
    packets = edge.send(np.zeros((20_000, 1)))
    monkeypatch.setattr(follower, "MOST_WAITING", 100_000)
    cloud.receive(packets[0])
    for packet in packets[2:]:
        cloud.receive(packet)
    assert 50_000 < cloud.streams_[edge.stream_].waiting_bytes <= 100_000


@pytest.mark.parametrize("times", [np.arange(90) * 7, np.cumsum(np.arange(90) % 5), "dates"])
def test_times_come_back_and_regular_ones_take_a_byte(times):
    Y = made_stream()[:90]
    if isinstance(times, str):
        times = np.datetime64("2024-01-01T00", "s") + 3600 * np.arange(90)
    (edge, cloud), (without, _) = streams(30), streams(30)
    packets = edge.send(Y, times=times)
    found = [r.times for r in map(cloud.receive, packets) if r.times is not None]
    np.testing.assert_array_equal(np.concatenate(found), np.asarray(times).astype(np.int64))
    extra = sum(map(len, packets)) - sum(map(len, without.send(Y)))
    if len(np.unique(np.diff(times))) == 1:
        assert extra < 3 + 40
    with pytest.raises(ValueError, match="one for each row"):
        edge.send(Y, times=[1.5] * 90)


def test_two_streams_of_one_tag_do_not_both_begin(monkeypatch):
    """Short packets tell 16 bits of their stream: the second has to draw another number."""
    Y, (old, cloud) = made_stream(), streams()
    decoded(old.send(Y[:80]), cloud)
    new = SensorCodec(error=0.02, batch_size=40).edge(8)
    new.stream_ = old.stream_ ^ 0x50000
    first, *rest = new.send(Y[80:160])
    problem = cloud.receive(first)
    assert "another number" in problem.problem
    assert all(cloud.receive(packet).values is None for packet in rest)  # never taken for the old
    renamed = new.handle(problem.request)
    assert new.stream_ & 0xFFFF != old.stream_ & 0xFFFF
    values = decoded([*renamed, *new.send(Y[160:240])], cloud)
    assert relative_error(values, Y[160:240]) < 0.03
    assert list(cloud.streams_) == [old.stream_, new.stream_]


def test_hundreds_of_lost_packets_are_noticed_and_the_stream_goes_on():
    """Numbers of packets are told by a byte: after 256 they come again."""
    Y, (edge, cloud) = made_stream(), streams(1)
    decoded(edge.send(Y[:10]), cloud)
    edge.send(Y[10:266])  # 256 packets, all lost
    queue = edge.send(Y[266:300])
    got = 10
    while queue:
        received = cloud.receive(queue.pop(0))
        got += 0 if received.values is None else len(received.values)
        queue = (edge.handle(received.request) if received.request else []) + queue
    lost = sum(stop - start for start, stop in cloud.gaps_)
    assert cloud.n_rows_ == 300 == got + lost


def test_a_packet_has_eight_bytes_of_frame_and_one_of_head():
    Y = np.full((2560, 1), 5.0)
    edge, cloud = SensorCodec(error=0.01).edge(1), Cloud()
    packets = edge.send(Y, times=np.arange(2560) * 60)
    assert max(map(len, packets[2:])) <= 9 + 1
    np.testing.assert_allclose(decoded(packets, cloud), Y)


def test_what_came_days_ago_need_not_be_told_again():
    """Packers know the rows before: a day that comes again takes next to nothing."""
    day = np.random.default_rng(0).integers(0, 1000, (256, 1)).astype(float)
    packets = SensorCodec(error=0.0).edge(1).send(np.tile(day, (4, 1)))
    assert len(packets[1]) > 256
    assert max(map(len, packets[2:])) < 30
    np.testing.assert_array_equal(decoded(packets), np.tile(day, (4, 1)))


def test_rows_may_wait_until_a_packet_is_worth_its_frame():
    """Where rows take next to nothing; and no longer than was allowed."""
    Y = np.vstack([np.full((2000, 8), 5.0), made_stream()])
    codec, cloud = SensorCodec(error=0.01, batch_size=50), Cloud()
    edge, hasty = codec.edge(8, patience=1000), codec.edge(8)
    rows, sizes, waited = [], [], 0
    for t in range(0, len(Y), 10):
        packets = edge.send(Y[t : t + 10], times=np.arange(t, t + 10))
        waited = max(waited, t + 10 - edge.n_rows_)
        rows += [r.values for r in map(cloud.receive, packets) if r.values is not None]
        sizes += map(len, packets)
    rows += [r.values for r in map(cloud.receive, edge.flush()) if r.values is not None]
    assert relative_error(np.vstack(rows), Y) <= 0.01
    assert edge.flush() == []
    assert 50 < waited <= 1000
    assert sum(sizes) < 0.95 * sum(len(p) for p in hasty.send(Y))
    assert edge.send(Y[:1], times=[9999]) == []
    assert len(edge.send(Y[:1])) == 1  # times have stopped: what waits goes first
    with pytest.raises(ValueError, match="whole number of rows"):
        codec.edge(8, patience=-1)
