"""Transports: in threads, over Zenoh within one process, under fuzz, and behind certificates."""

import datetime
import ipaddress
import threading
import time

import numpy as np
import pytest
from tests.runtime.cases import endpoints

from droculo.runtime import TLS, MemoryTransport, ZenohTransport
from droculo.runtime.protocol.frames import Frame, FrameError, Kind, decode
from droculo.runtime.transports.base import why_unusable
from droculo.runtime.transports.memory import Hub
from droculo.runtime.transports.zenoh import Clock
from droculo.testing import check_transport

zenoh = pytest.importorskip("zenoh")
PATH = {0: (1,), 1: (0, 2), 2: (1,)}


def until(true, seconds=30.0):
    """Wait for that."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def at_once(*functions):
    """Run functions in threads; what any of them raises is raised here."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a process hangs"
    if errors:
        raise errors[0]


def in_memory():
    hub = Hub()
    return {me: MemoryTransport(hub, me, near) for me, near in PATH.items()}


def over_zenoh(**options):
    where = endpoints(len(PATH))
    return {me: ZenohTransport(me, where, near, run="test", **options) for me, near in PATH.items()}


@pytest.mark.parametrize("make", [in_memory, over_zenoh])
def test_the_contract(make):
    transports = make()
    at_once(*(lambda each=each: check_transport(each) for each in transports.values()))


class Late(Clock):
    """The clock of a process whose time another can move on, as if it had waited."""

    def __init__(self):
        self.skipped = 0.0

    def now(self):
        return super().now() + self.skipped

    def wait_for(self, changed, holds, seconds):
        end = self.now() + seconds
        while not holds() and self.now() < end:
            changed.wait(0.005)
        return holds()


class Deaf(MemoryTransport):
    """A transport that loses what neighbour 0 says."""

    def exchange(self, number, outgoing, shapes):
        heard = super().exchange(number, outgoing, shapes)
        return {q: rows for q, rows in heard.items() if q != 0}


class Rounding(MemoryTransport):
    """A transport that sends in single precision."""

    def exchange(self, number, outgoing, shapes):
        rounded = {q: rows.astype(np.float32).astype(rows.dtype) for q, rows in outgoing.items()}
        return super().exchange(number, rounded, shapes)


@pytest.mark.parametrize(("broken", "why"), [(Deaf, "must hear from"), (Rounding, "bit for bit")])
def test_a_broken_transport_is_found_out(broken, why):
    hub = Hub()
    pair = [MemoryTransport(hub, 0, (1,), patience=2.0), broken(hub, 1, (0,), patience=2.0)]

    def check(each):
        try:
            check_transport(each)
        finally:
            each.close()

    with pytest.raises(AssertionError, match=why):
        at_once(*(lambda each=each: check(each) for each in pair))


def test_a_thread_that_leaves_is_a_failed_link():
    hub = Hub()
    one, other = (MemoryTransport(hub, me, (1 - me,)) for me in range(2))
    row, shape = np.ones((1, 2)), (1, 2)
    at_once(lambda: one.meet(0, 1), lambda: other.meet(0, 1))
    at_once(lambda: one.exchange(0, {1: row}, {1: shape}), lambda: other.exchange(0, {0: row}, {0: shape}))
    other.close()
    assert one.exchange(1, {1: row}, {1: shape}) == {}


FRAME = Frame(Kind.ROWS, b"12345678", 99, 1, 0, 5, rows=np.arange(6.0).reshape(2, 3))


def test_frames_come_back_as_they_were():
    for rows in (FRAME.rows, FRAME.rows.astype(np.float32), np.zeros((0, 3))):
        frame = Frame(Kind.ROWS, b"12345678", 99, 1, 0, 5, rows=rows)
        found = decode(frame.encode(), b"12345678")
        assert np.array_equal(found.rows, rows)
        assert found.rows.dtype == rows.dtype
        assert (found.session, found.sender, found.receiver, found.exchange) == (99, 1, 0, 5)


def test_every_flipped_bit_is_noticed():
    whole = FRAME.encode()
    for place in range(8 * len(whole)):
        broken = bytearray(whole)
        broken[place // 8] ^= 1 << place % 8
        with pytest.raises(FrameError):
            decode(bytes(broken), b"12345678")
    for length in range(len(whole)):
        with pytest.raises(FrameError):
            decode(whole[:length], b"12345678")
    with pytest.raises(FrameError, match="too long"):
        decode(whole, b"12345678", most=len(whole) - 1)
    with pytest.raises(FrameError, match="another run"):
        decode(whole, b"87654321")


def test_what_makes_rows_unusable():
    good, kind = np.ones((2, 3)), np.dtype(np.float64)
    assert why_unusable(good, (2, 3), kind) is None
    assert why_unusable(good, (3, 2), kind) == "wrong shape"
    assert why_unusable(good.astype(np.float32), (2, 3), kind) == "wrong kind of numbers"
    for bad in (np.nan, np.inf, -np.inf):
        assert why_unusable(np.full((2, 3), bad), (2, 3), kind) == "not finite"


def malformed(rng, run):
    """Bytes that a neighbour cannot have sent: noise, cut, changed, of another version, run, sender or life."""
    rows = rng.standard_normal((1, 2))
    good = Frame(Kind(int(rng.integers(1, 7))), run, int(rng.integers(2**62)), 1, 0, int(rng.integers(400)), rows=rows)
    data = bytearray(good.encode())
    kind = rng.integers(7)
    if kind == 0:
        return rng.bytes(int(rng.integers(0, 300)))
    if kind == 1:
        return bytes(data[: int(rng.integers(len(data)))])
    if kind == 2:
        data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
        return bytes(data)
    if kind == 3:
        return bytes(data) + rng.bytes(int(rng.integers(1, 100)))
    if kind == 4:
        return Frame(Kind.ROWS, rng.bytes(8), 1, 1, 0, 3, rows=rows).encode()
    if kind == 5:  # words of a life that nothing was agreed with
        word = Kind(int(rng.integers(2, 8)))
        return Frame(
            word, run, int(rng.integers(2**62)), 1, 0, int(rng.integers(400)), int(rng.integers(2**62))
        ).encode()
    return Frame(Kind.ROWS, run, int(rng.integers(2**62)), 1, 0, int(rng.integers(400)), rows=rows).encode()


def test_ten_thousand_malformed_frames_change_nothing():
    """A stranger floods a live process; what it hears from its neighbour stays what its neighbour said."""
    where = endpoints(2)
    pair = [ZenohTransport(me, where, (1 - me,), run="fuzz", patience=20) for me in range(2)]
    victim = pair[0]
    heard, stop = [], threading.Event()

    def live(each, keep):
        each.meet(0, 1)
        number = 0
        while not (stop.is_set() and number >= 300) and number < 20_000:
            rows = np.full((1, 2), float(number))
            found = each.exchange(number, {1 - each.me: rows}, {1 - each.me: (1, 2)})
            if keep is not None:
                keep.append((number, found.get(1)))
            if stop.is_set() and number >= 300:
                break
            number += 1
            if each.me == 0:
                time.sleep(0.0005)
        each.close()

    def flood():
        config = zenoh.Config()
        for name, value in (
            ("mode", '"peer"'), ("connect/endpoints", f'["{where[0]}"]'), ("scouting/multicast/enabled", "false"),
            ("listen/endpoints", "[]"),
        ):  # fmt: skip
            config.insert_json5(name, value)
        rng = np.random.default_rng(0)
        with zenoh.open(config) as stranger:
            time.sleep(0.5)
            for _ in range(10_000):
                stranger.put(
                    f"{victim._root}/to/0/1",
                    malformed(rng, victim.members.run),
                    congestion_control=zenoh.CongestionControl.BLOCK,
                )
            deadline = time.monotonic() + 30
            while sum(victim.meter.refused.values()) < 10_000 and time.monotonic() < deadline:
                time.sleep(0.05)
        stop.set()

    at_once(lambda: live(victim, heard), lambda: live(pair[1], None), flood)
    assert sum(victim.meter.refused.values()) == 10_000
    assert {"no frame", "cut off", "wrong checksum", "another run", "another life"} <= victim.meter.refused.keys()
    # The last exchange is the one in which the other may have stopped first.
    assert len(heard) > 300
    assert all(rows is not None and np.all(rows == number) for number, rows in heard[:-1])


def test_what_a_neighbour_cannot_mean_is_a_failed_link_and_no_more():
    """Wrong shape, NaN, infinity: well-formed frames of the right life, from the neighbour itself."""
    where = endpoints(2)
    pair = [ZenohTransport(me, where, (1 - me,), run="rubbish", patience=5) for me in range(2)]
    rubbish = {
        3: np.array([[np.nan, 0.0]]), 5: np.array([[0.0, -np.inf]]), 7: np.ones((2, 2)), 9: np.ones((1, 3)),
    }  # fmt: skip
    failed, counted = [], []

    def honest():
        pair[0].meet(0, 1)
        for number in range(20):
            if 1 not in pair[0].exchange(number, {1: np.ones((1, 2))}, {1: (1, 2)}):
                failed.append(number)
        pair[0].close()

    def other():
        pair[1].meet(0, 1)
        for number in range(20):
            if 0 in pair[1].exchange(number, {0: rubbish.get(number, np.ones((1, 2)))}, {0: (1, 2)}):
                counted.append(number)
        pair[1].close()

    at_once(honest, other)
    assert failed == sorted(rubbish)
    assert pair[0].meter.refused == {"not finite": 2, "wrong shape": 2}
    # Where the other end had counted already when it was told, it knows that they disagree.
    assert pair[1].members.one_sided == len(set(counted) & rubbish.keys())


def test_a_silent_process_is_given_up_and_comes_back():
    """A stalled process is not waited for. When it continues it is behind, by up to the time that it stalled; every attempt to
    agree again makes up for one patience."""
    where = endpoints(2)
    pair = [ZenohTransport(me, where, (1 - me,), run="nap", patience=0.4) for me in range(2)]
    counted = [[], []]

    def live(me):
        pair[me].meet(0, 1)
        for number in range(250):
            if me == 1 and number == 10:
                time.sleep(1.2)
            counted[me].append((1 - me) in pair[me].exchange(number, {1 - me: np.ones((1, 2))}, {1 - me: (1, 2)}))
            time.sleep(0.01)
        pair[me].close()

    at_once(lambda: live(0), lambda: live(1))
    assert not all(counted[0])
    assert counted[0][:10] == counted[1][:10] == [True] * 10
    assert counted[0][-1]
    assert counted[1][-1]
    different = sum(a != b for a, b in zip(*counted, strict=True))
    assert different <= 1, (different, counted)


ONE, SHAPE = np.ones((1, 2)), (1, 2)


def test_patience_is_measured_by_the_clock_of_the_transport():
    """A process waits for a silent neighbour until its own clock says that it has waited long enough."""
    where, clock = endpoints(2), Late()
    pair = [ZenohTransport(me, where, (1 - me,), run="clock", patience=1e6, clock=clock) for me in range(2)]
    heard = []

    def live(me):
        pair[me].meet(0, 1)
        heard.append(pair[me].exchange(0, {1 - me: ONE}, {1 - me: SHAPE}).keys())

    at_once(lambda: live(0), lambda: live(1))
    assert heard == [{1}, {0}] or heard == [{0}, {1}]
    waiting = threading.Thread(target=lambda: heard.append(pair[0].exchange(1, {1: ONE}, {1: SHAPE}).keys()))
    waiting.start()
    time.sleep(0.2)
    assert waiting.is_alive()
    clock.skipped = 2e6
    waiting.join(10)
    assert heard[2] == set()
    assert not pair[0].members.links[1].agreed
    for each in pair:
        each.session.close()


def over(near, **options):
    where = endpoints(len(near))
    return {me: ZenohTransport(me, where, tuple(q), run="test", **options) for me, q in near.items()}


def test_links_that_are_often_idle_lose_nothing():
    """A link that is down does not hold a process back: a neighbour may be many exchanges ahead, and its rows must wait."""
    size, exchanges = 5, 150
    near = {me: [q for q in (me - 1, me + 1) if 0 <= q < size] for me in range(size)}
    up = np.random.default_rng(3).uniform(size=(exchanges, size)) < 0.3  # link (i, i + 1)
    transports, lost = over(near), []

    def live(me):
        rng = np.random.default_rng(me)
        transports[me].meet(0, 1)
        for number in range(exchanges):
            using = [q for q in near[me] if up[number, min(me, q)]]
            heard = transports[me].exchange(number, dict.fromkeys(using, ONE), dict.fromkeys(using, SHAPE))
            lost.extend((me, q, number) for q in using if q not in heard)
            time.sleep(rng.uniform(0, 0.004))
        transports[me].close()

    at_once(*(lambda me=me: live(me) for me in range(size)))
    assert lost == []
    assert all(each.meter.refused == {} for each in transports.values())


def test_one_that_hangs_does_not_make_its_neighbours_neighbours_late():
    """A process that waits for a stalled one says so, and is waited for."""
    near = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}
    transports, failed = over(near, patience=0.6), []

    def live(me):
        transports[me].meet(0, 1)
        for number in range(40):
            if me == 3 and number == 10:
                time.sleep(1.5)
            heard = transports[me].exchange(number, dict.fromkeys(near[me], ONE), dict.fromkeys(near[me], SHAPE))
            failed.extend((me, q) for q in near[me] if q not in heard)
        transports[me].close()

    at_once(*(lambda me=me: live(me) for me in near))
    assert set(failed) <= {(2, 3), (3, 2)}
    assert (2, 3) in failed


def test_two_processes_that_miss_rows_of_each_other_do_not_wait_for_ever():
    """One row gets lost. The one that misses it hears that the other waits, further on, and gives the link up all the same."""
    pair, failed = over({0: [1], 1: [0]}, patience=0.4), []
    put = pair[1]._put
    pair[1]._put = lambda frame: (frame.kind == Kind.ROWS and frame.exchange == 5) or put(frame)

    def live(me):
        pair[me].meet(0, 1)
        for number in range(60):
            if (1 - me) not in pair[me].exchange(number, {1 - me: ONE}, {1 - me: SHAPE}):
                failed.append((me, number))
            time.sleep(0.01)
        pair[me].close()

    at_once(lambda: live(0), lambda: live(1))
    assert (0, 5) in failed
    assert not {(0, 59), (1, 59)} & set(failed)  # and they found together again


def test_a_process_is_not_waited_for_before_it_has_met():
    """A transport is made before its process has compiled; until it meets, its neighbours wait for it without an exchange."""
    pair = over({0: [1], 1: [0]}, patience=0.5)
    counted = []

    def live(me):
        time.sleep(1.2 * me)
        pair[me].meet(0, 1)
        for number in range(10):
            counted.append((1 - me) in pair[me].exchange(number, {1 - me: ONE}, {1 - me: SHAPE}))
        pair[me].close()

    at_once(lambda: live(0), lambda: live(1))
    assert counted == [True] * 20


@pytest.mark.parametrize(("firsts", "oldest", "start"), [((6, 5, 4), 2, 4), ((30, 5, 5), 5, 5)])
def test_all_that_start_again_go_back_to_the_one_that_is_furthest_behind(firsts, oldest, start):
    near = {0: [1], 1: [0, 2], 2: [1]}
    transports, starts = over(near), {}
    # This is about how far processes go back, and not about how long connections take.
    until(lambda: all(link.alive for each in transports.values() for link in each.members.links.values()))

    def live(me):
        starts[me] = transports[me].meet(firsts[me], 1, oldest if firsts[me] < 30 else 28, 100)

    at_once(*(lambda me=me: live(me) for me in near))
    assert (starts[1], starts[2]) == (start, start)
    assert starts[0] == (start if firsts[0] < 30 else 30)  # a process that cannot go back continues where it can
    for each in transports.values():
        each.session.close()


def test_a_process_that_comes_back_agrees_with_lower_and_higher_neighbours():
    near = {0: [1], 1: [0, 2], 2: [1]}
    where = endpoints(3)
    lives = {me: ZenohTransport(me, where, tuple(near[me]), run="back", gathering=0.5, patience=8) for me in (0, 2)}
    stop, agreed = threading.Event(), []

    def live(me):
        number = lives[me].meet(0, 1)
        while not stop.is_set():
            lives[me].exchange(number, dict.fromkeys(near[me], ONE), dict.fromkeys(near[me], SHAPE))
            number += 1
            time.sleep(0.01)
        lives[me].session.close()

    def come_and_go():
        until(lambda: all(each.members.begun for each in lives.values()))
        for _ in range(2):
            middle = ZenohTransport(1, where, (0, 2), run="back", patience=8)
            number = middle.meet(0, 1)
            agreed.append({q for q, link in middle.members.links.items() if link.agreed})
            for k in range(number, number + 5):
                middle.exchange(k, dict.fromkeys((0, 2), ONE), dict.fromkeys((0, 2), SHAPE))
            middle.session.close()  # and it is dead
            until(lambda: not any(each.members.links[1].agreed for each in lives.values()))
        stop.set()

    at_once(lambda: live(0), lambda: live(2), come_and_go)
    assert agreed == [{0, 2}, {0, 2}]


def test_two_that_run_at_different_speeds_find_together_again_without_shouting():
    pair = over({0: [1], 1: [0]}, patience=0.5)
    last, again = {}, {0: 0, 1: 0}  # `again`: how many exchanges counted since they found together

    def live(me):
        pair[me].meet(0, 1)
        number, end = 0, time.monotonic() + 6
        while time.monotonic() < end and min(again.values()) < 40:
            if me == 1 and number == 20:
                time.sleep(1.0)
            last[me] = (1 - me) in pair[me].exchange(number, {1 - me: ONE}, {1 - me: SHAPE})
            again[me] = again[me] + 1 if last[me] and number > 20 else 0
            number += 1
            time.sleep(0.001 if me == 0 else 0.02)
        pair[me].session.close()

    at_once(lambda: live(0), lambda: live(1))
    assert min(again.values()) > 30
    assert sum(each.meter.control for each in pair.values()) < 200


def certificate(folder, name, issuer=None, authority=False):
    """A key and a certificate for this machine, signed by `issuer` or by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    by, sign = (subject, key) if issuer is None else issuer
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(sign, hashes.SHA256())
    )
    files = folder / f"{name}.pem", folder / f"{name}-key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return (subject, key), files


def test_only_a_valid_certificate_gets_in(tmp_path):
    ours, (authority, _) = certificate(tmp_path, "authority", authority=True)
    theirs, _ = certificate(tmp_path, "other", authority=True)
    good = [TLS(authority, *certificate(tmp_path, f"agent-{me}", ours)[1]) for me in range(2)]
    wrong = certificate(tmp_path, "intruder", theirs)[1]
    where = endpoints(3, "tls", "localhost")
    pair = [ZenohTransport(me, where, (1 - me,), run="secret", tls=good[me]) for me in range(2)]

    def intrude(**tls):
        """What a stranger with this configuration learns within a second: its peers, tokens and frames."""
        config = zenoh.Config()
        settings = {
            "mode": '"peer"', "connect/endpoints": f'["{where[0]}"]', "scouting/multicast/enabled": "false",
            "connect/exit_on_failure": "false", "connect/timeout_ms": "-1", "listen/endpoints": "[]",
        }  # fmt: skip
        for name, value in settings.items():
            config.insert_json5(name, value)
        for name, value in tls.items():
            config.insert_json5(f"transport/link/tls/{name}", value if isinstance(value, str) else f'"{value}"')
        heard = []
        with zenoh.open(config) as session:
            session.declare_subscriber("**", heard.append, allowed_origin=zenoh.Locality.REMOTE)
            session.liveliness().declare_subscriber("**", heard.append, history=True)
            session.put(f"{pair[0]._root}/to/0/1", b"let me in")
            time.sleep(1.0)
            return session.info.peers_zid(), heard

    def exchange(each):
        each.meet(0, 1)
        for number in range(50):
            each.exchange(number, {1 - each.me: np.ones((1, 2))}, {1 - each.me: (1, 2)})
            time.sleep(0.02)
        each.close()

    attempts = []

    def attack():
        files = {"connect_certificate": wrong[0], "connect_private_key": wrong[1], "enable_mtls": "true"}
        attempts.append(intrude(root_ca_certificate=authority))  # no certificate
        attempts.append(intrude(root_ca_certificate=authority, **files))  # that of another authority

    at_once(lambda: exchange(pair[0]), lambda: exchange(pair[1]), attack)
    assert attempts == [([], []), ([], [])]
    assert all(each.meter.refused == {} and each.meter.frames == 50 for each in pair)
    # The same stranger with a certificate of the right authority does get in: the test can tell.
    listener = ZenohTransport(0, where, (), run="secret", tls=good[0])
    files = {"connect_certificate": good[1].certificate, "connect_private_key": good[1].key, "enable_mtls": "true"}
    peers, _ = intrude(root_ca_certificate=authority, **files)
    listener.close()
    assert len(peers) == 1


def test_wrong_endpoints_and_files_are_said(tmp_path):
    with pytest.raises(ValueError, match=r"processes \[1\] have no endpoint"):
        ZenohTransport(0, {0: "tcp/127.0.0.1:1"}, (1,), run="x")
    here = endpoints(1)
    taken = ZenohTransport(0, here, (), run="x")
    with pytest.raises(ValueError, match="Is the port in use"):
        ZenohTransport(0, here, (), run="x")
    taken.close()
    for endpoint in ("7447", 7447):
        with pytest.raises(ValueError, match="an endpoint is 'tcp/host:port'"):
            ZenohTransport(0, {0: endpoint}, (), run="x")
    with pytest.raises(ValueError, match="patience is a number of seconds"):
        ZenohTransport(0, endpoints(1), (), run="x", patience=float("inf"))
    with pytest.raises(ValueError, match="authority of TLS is a file"):
        TLS(tmp_path / "no", tmp_path / "no", tmp_path / "no")
    _, (certified, key) = certificate(tmp_path, "authority", authority=True)
    with pytest.raises(ValueError, match="which is not encrypted"):
        ZenohTransport(0, endpoints(1), (), run="x", tls=TLS(certified, certified, key))
