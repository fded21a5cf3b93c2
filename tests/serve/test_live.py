"""The service on real sockets: a full queue, slow, greedy and vanished clients, an orderly shutdown."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")

import httpx

from nadirfix.serve.options import QueueOptions, ServeOptions
from nadirfix.serve.uploads.parameters import RequestParameters
from tests.serving import (
    FakeLocator,
    Latch,
    Running,
    form,
    head,
    jpeg,
    read_all,
    running,
    small_bundle,
    until,
)  # fmt: skip

PHOTO = jpeg()
HEADERS = {"Content-Type": "image/jpeg"}
#: A quarter of a second stands for the ten of a real service.
HASTY = ServeOptions(body_grace_s=0.25, header_s=0.25, idle_s=0.5, photo_bytes=1_000_000)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return small_bundle(tmp_path_factory.mktemp("bundle") / "b.nadir")


def post(service: Running, photo: bytes = PHOTO) -> httpx.Response:
    return httpx.post(f"{service.url}/v1/locate", content=photo, headers=HEADERS, timeout=20)


def waiting(service: Running) -> int:
    return int(httpx.get(f"{service.url}/readyz").json()["waiting"])


def test_a_full_queue_is_429_and_nothing_piles_up(bundle: Any) -> None:
    latch = Latch()
    locator = FakeLocator(latch)
    with (
        running(bundle, ServeOptions(queue=3, queueing=QueueOptions(deviations=0.0)), locator) as service,
        ThreadPoolExecutor(20) as pool,
    ):
        first = [pool.submit(post, service) for _ in range(3)]
        until(lambda: waiting(service) == 3)
        refused = [f.result() for f in [pool.submit(post, service) for _ in range(20)]]
        assert {r.status_code for r in refused} == {429}
        assert all(int(r.headers["retry-after"]) >= 1 for r in refused)
        assert refused[0].json()["error"]["code"] == "service.busy"
        assert waiting(service) == 3 and len(locator.requests) == 1
        latch.open.set()
        assert [f.result().status_code for f in first] == [200] * 3
        assert post(service).status_code == 200


def test_a_refused_body_is_not_needed(bundle: Any) -> None:
    """A refused client gets its answer before the photo is uploaded."""
    latch = Latch()
    with running(bundle, ServeOptions(queue=1), FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        held = pool.submit(post, service)
        until(lambda: waiting(service) == 1)
        with service.connect() as line:
            line.sendall(head(service, 5_000_000))
            assert line.recv(20) == b"HTTP/1.1 429 Too Man"
        latch.open.set()
        assert held.result().status_code == 200


def test_a_client_that_expects_100_continue_uploads_nothing_in_vain(bundle: Any) -> None:
    latch = Latch()
    with running(bundle, ServeOptions(queue=1), FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        asks = head(service, len(PHOTO)).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
        held = pool.submit(post, service)
        until(lambda: waiting(service) == 1)
        with service.connect() as line:
            line.sendall(asks)
            assert line.recv(20) == b"HTTP/1.1 429 Too Man"
        latch.open.set()
        held.result()
        with service.connect() as line:
            line.sendall(asks)
            assert b"100" in receive_until(line, b"\r\n\r\n")
            line.sendall(PHOTO)
            assert b"200 OK" in receive_until(line, b"bytes")


def test_a_photo_that_takes_too_long_is_503_and_the_service_says_it_is_stuck(bundle: Any) -> None:
    latch = Latch()
    options = ServeOptions(photo_s=0.2, at_once=1)
    with running(bundle, options, FakeLocator(latch)) as service:
        answer = post(service)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service.timeout")
        assert int(answer.headers["retry-after"]) >= 1
        assert httpx.get(f"{service.url}/readyz").status_code == 503
        assert httpx.get(f"{service.url}/healthz").status_code == 200
        latch.open.set()
        until(lambda: httpx.get(f"{service.url}/readyz").status_code == 200)


def test_two_photos_are_placed_at_the_same_time(bundle: Any) -> None:
    both = threading.Barrier(2)
    locator = FakeLocator(lambda *_: both.wait(10) and None)  # broken, and 500, where the other never comes
    with running(bundle, ServeOptions(at_once=2), locator) as service, ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(post, service) for _ in range(4)]
        assert [a.result().status_code for a in answers] == [200] * 4


def test_one_stuck_photo_leaves_the_other_core_to_the_others(bundle: Any) -> None:
    latch, stuck = Latch(), b"stuck" + PHOTO
    locator = FakeLocator(lambda photo, parameters: latch(photo, parameters) if photo == stuck else None)
    with running(bundle, ServeOptions(photo_s=0.3, at_once=2), locator) as service:
        assert post(service, photo=stuck).status_code == 503
        until(lambda: httpx.get(f"{service.url}/readyz").json().get("stuck") == 1)
        assert [post(service).status_code for _ in range(5)] == [200] * 5
        assert "nadirfix_photos_stuck 1.0" in httpx.get(f"{service.url}/metrics").text
        assert post(service, photo=stuck).status_code == 503
        until(lambda: httpx.get(f"{service.url}/readyz").status_code == 503)  # now nobody is left
        latch.open.set()
        until(lambda: httpx.get(f"{service.url}/readyz").json().get("stuck") == 0)


def test_a_client_that_hangs_up_frees_its_place(bundle: Any) -> None:
    latch = Latch()
    locator = FakeLocator(latch)
    with running(bundle, ServeOptions(queue=2), locator) as service, ThreadPoolExecutor(1) as pool:
        held = pool.submit(post, service)
        until(lambda: waiting(service) == 1)
        with service.connect() as line:
            line.sendall(head(service, len(PHOTO)) + PHOTO)
            until(lambda: waiting(service) == 2)
        until(lambda: waiting(service) == 1)
        latch.open.set()
        held.result()
    assert len(locator.requests) == 1  # the other one was never started


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_graceful_stop_finishes_what_was_accepted(bundle: Any, at_once: int) -> None:
    latch = Latch()
    locator = FakeLocator(latch)
    options = ServeOptions(queue=5, at_once=at_once, queueing=QueueOptions(deviations=0.0))
    with ThreadPoolExecutor(8) as pool, running(bundle, options, locator) as service:
        accepted = [pool.submit(post, service) for _ in range(5)]
        until(lambda: waiting(service) == 5)
        service.stop()
        until(lambda: not _accepts(service))
        assert not any(f.done() for f in accepted) and len(locator.requests) == at_once
        latch.open.set()
        assert [f.result().status_code for f in accepted] == [200] * 5
    assert len(locator.requests) == 5


def test_a_batch_answers_each_photo_before_the_next_is_sent(bundle: Any) -> None:
    """As an aircraft sends them, one by one through one request."""
    body, kind = form(*[("photo", f"{i}.jpg", PHOTO) for i in range(3)])
    length, starts = len(body), [body.index(b'filename="%d.jpg"' % i) for i in (1, 2)]
    with running(bundle, ServeOptions(), FakeLocator()) as service, service.connect() as line:
        line.sendall(head(service, length, path="/v1/locate/batch", kind=kind) + body[: starts[0]])
        received = receive_until(line, b"0.jpg")
        assert b"application/x-ndjson" in received
        line.sendall(body[starts[0] : starts[1]])
        received += receive_until(line, b"1.jpg")
        line.sendall(body[starts[1] :])
        receive_until(line, b"2.jpg")


def test_a_batch_is_placed_on_every_core_and_its_lines_stay_in_order(bundle: Any) -> None:
    """The first photo is done only when the second is: one after the other they would never be."""
    second = threading.Event()

    def action(_: bytes, parameters: RequestParameters) -> None:
        if parameters.name == "0.jpg":
            assert second.wait(10)
        if parameters.name == "1.jpg":
            second.set()

    with running(bundle, ServeOptions(at_once=2), FakeLocator(action)) as service:
        assert batch(service, 6) == [(f"{i}.jpg", "fix") for i in range(6)]


def test_a_batch_takes_no_core_from_other_clients_but_one(bundle: Any) -> None:
    """While another client has the second worker, a batch has one pending photo."""
    latch, most, running_now = Latch(), [], set()

    def action(photo: bytes, parameters: RequestParameters) -> None:
        if not parameters.name.endswith(".jpg"):
            return latch(photo, parameters)
        running_now.add(parameters.name)
        most.append(len(running_now))
        time.sleep(0.02)
        return running_now.discard(parameters.name)

    with (
        running(bundle, ServeOptions(at_once=2), FakeLocator(action)) as service,
        ThreadPoolExecutor(1) as pool,
    ):
        held = pool.submit(post, service)
        assert latch.entered.acquire(timeout=10)
        assert len(batch(service, 6)) == 6
        assert most == [1] * 6
        latch.open.set()
        assert held.result().status_code == 200
        assert len(batch(service, 6)) == 6
        assert max(most) == 2


def test_a_batch_leaves_itself_room_to_read_on(bundle: Any) -> None:
    """Twelve idle workers, and memory for eight photos: it submits five, and is not broken off."""
    photo, latch = bytes(1_000_000), Latch()
    options = ServeOptions(at_once=12, photo_bytes=2_000_000, upload_bytes=8_500_000)
    with running(bundle, options, FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        answered = pool.submit(batch, service, 12, photo)
        assert all(latch.entered.acquire(timeout=10) for _ in range(5))
        assert not latch.entered.acquire(timeout=0.3)
        latch.open.set()
        assert answered.result() == [(f"{i}.jpg", "fix") for i in range(12)]


def batch(service: Running, photos: int, photo: bytes = PHOTO) -> list[tuple[str, str]]:
    """Name and status of each line, in the order in which they come."""
    body, kind = form(*[("photo", f"{i}.jpg", photo) for i in range(photos)])
    url = f"{service.url}/v1/locate/batch"
    answer = httpx.post(url, content=body, headers={"Content-Type": kind}, timeout=20)
    return [(line["photo"], line["status"]) for line in map(json.loads, answer.text.splitlines())]


def receive_until(line: Any, wanted: bytes) -> bytes:
    received = b""
    while wanted not in received:
        piece = line.recv(65536)
        assert piece, received
        received += piece
    return received


def test_a_client_that_sends_everything_before_it_reads_is_not_waited_for(bundle: Any) -> None:
    """Two thousand long lines do not fit into the sockets between us; reading must go on all the same."""
    names = [f"{i:04d}{'x' * 190}" for i in range(900)]
    body, kind = form(*[("photo", name, b"x") for name in names])
    fill = FakeLocator()

    def padded(photo: bytes, parameters: Any) -> dict[str, Any]:
        return {**fill(photo, parameters), "pad": "y" * 20_000}

    with running(bundle, ServeOptions(), padded) as service:
        answer = httpx.post(
            f"{service.url}/v1/locate/batch", content=body, headers={"Content-Type": kind}, timeout=60
        )
    assert [json.loads(line)["photo"] for line in answer.text.splitlines()] == names


def test_too_many_batches_at_once_are_429(bundle: Any) -> None:
    body, kind = form(("photo", "a.jpg", PHOTO), ("photo", "b.jpg", PHOTO))
    with running(bundle, ServeOptions(batches=1), FakeLocator()) as service, service.connect() as line:
        line.sendall(head(service, len(body), path="/v1/locate/batch", kind=kind) + body[:100])
        time.sleep(0.2)
        answer = httpx.post(f"{service.url}/v1/locate/batch", content=body, headers={"Content-Type": kind})
        assert answer.status_code == 429 and "retry-after" in answer.headers
        line.sendall(body[100:])
        receive_until(line, b"b.jpg")


@pytest.mark.parametrize("path", ["/v1/locate", "/v1/locate/batch"])
def test_a_body_that_stops_is_dropped(bundle: Any, path: str) -> None:
    body, kind = form(("photo", "a.jpg", PHOTO))
    with running(bundle, HASTY, FakeLocator()) as service, service.connect() as line:
        began_s = time.monotonic()
        line.sendall(head(service, len(body), path=path, kind=kind) + body[:50])
        answer = read_all(line)
        assert b" 408 " in answer.partition(b"\r\n")[0] and b"service.slow" in answer
        assert time.monotonic() - began_s < 5


def test_a_body_that_trickles_is_dropped(bundle: Any) -> None:
    """One byte now and then keeps many servers waiting for ever."""
    locator = FakeLocator()
    with running(bundle, HASTY, locator) as service, service.connect() as line:
        line.sendall(head(service, 1000))
        with Trickle(line, b"x"):
            assert b" 408 " in read_all(line).partition(b"\r\n")[0]
        assert not locator.requests


@pytest.mark.parametrize("start", [b"", b"GET /v1/bun", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: "])
def test_headers_that_do_not_end_are_dropped(bundle: Any, start: bytes) -> None:
    with running(bundle, HASTY, FakeLocator()) as service, service.connect() as line:
        line.sendall(start)
        began_s = time.monotonic()
        with Trickle(line, b"y" if start else b""):
            assert dropped(line) == b""
        assert time.monotonic() - began_s < 5


def test_a_kept_connection_is_closed_when_idle_and_not_before(bundle: Any) -> None:
    slow = FakeLocator(lambda *_: time.sleep(0.6))
    with running(bundle, HASTY, slow) as service, service.connect() as line:
        line.sendall(head(service, len(PHOTO)) + PHOTO)
        assert b"200 OK" in receive_until(line, b"bytes")  # although it took longer than headers may
        time.sleep(0.35)  # longer than headers may take, shorter than a connection may be silent
        line.sendall(head(service, len(PHOTO)) + PHOTO)
        assert b"200 OK" in receive_until(line, b"bytes")
        began_s = time.monotonic()
        assert read_all(line).count(b"HTTP/") == 0
        assert 0.3 < time.monotonic() - began_s < 5


def test_the_rest_of_a_refused_body_is_dropped_and_the_connection_kept(bundle: Any) -> None:
    """A client that gets 429 early may still be uploading; it retries on the same connection."""
    latch = Latch()
    options = ServeOptions(queue=1, header_s=0.3, idle_s=30.0)
    with running(bundle, options, FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        held = pool.submit(post, service)
        until(lambda: waiting(service) == 1)
        with service.connect() as line:
            line.sendall(head(service, len(PHOTO)) + PHOTO[:100])
            receive_until(line, b"Retry-After says")
            line.sendall(PHOTO[100:])
            time.sleep(0.6)  # longer than headers may take
            latch.open.set()
            held.result()
            line.sendall(head(service, len(PHOTO)) + PHOTO)
            assert b"200 OK" in receive_until(line, b"bytes")


def test_headers_that_do_not_end_are_dropped_on_a_kept_connection_too(bundle: Any) -> None:
    patient = replace(HASTY, idle_s=30.0)
    with running(bundle, patient, FakeLocator()) as service, service.connect() as line:
        line.sendall(head(service, len(PHOTO)) + PHOTO)
        receive_until(line, b"bytes")
        began_s = time.monotonic()
        line.sendall(b"GET /v1/bun")
        with Trickle(line, b"d"):
            assert b"HTTP/" not in dropped(line)
        assert time.monotonic() - began_s < 5


@pytest.mark.parametrize(
    "request_head",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 3000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_oversized_and_unreadable_heads_are_refused(bundle: Any, request_head: bytes) -> None:
    with running(bundle, HASTY, FakeLocator()) as service, service.connect() as line:
        line.sendall(request_head)
        answer = read_all(line)
        assert (
            answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
            and b"content-security-policy" in answer.lower()
        )
        assert httpx.get(f"{service.url}/healthz").status_code == 200


def test_an_answer_is_sent_at_once(bundle: Any) -> None:
    """Its head and its body are small: the second would wait until the client has confirmed the first."""
    with running(bundle, ServeOptions(), FakeLocator()) as service, service.connect() as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        receive_until(line, b"alive")
        (connection,) = service.server.server_state.connections
        sock = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_more_connections_than_allowed_are_closed(bundle: Any) -> None:
    with running(bundle, ServeOptions(connections=5, client_connections=9), FakeLocator()) as service:
        lines = [service.connect() for _ in range(10)]
        try:
            time.sleep(0.2)
            answered = 0
            for line in lines:
                try:
                    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    answered += line.recv(15) == b"HTTP/1.1 200 OK"
                except OSError:
                    pass
            assert answered == 5
        finally:
            for line in lines:
                line.close()


def dropped(line: Any) -> bytes:
    """What comes until the other side is gone; bytes on their way to it may make that a reset."""
    try:
        return read_all(line)
    except ConnectionResetError:
        return b""


def _accepts(service: Running) -> bool:
    try:
        service.connect().close()
    except OSError:
        return False
    return True


class Trickle:
    """Sends a byte every twentieth of a second until the other side has had enough."""

    def __init__(self, line: Any, piece: bytes) -> None:
        self._line, self._piece, self._stop = line, piece, threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _send(self) -> None:
        try:
            while self._piece and not self._stop.wait(0.05):
                self._line.sendall(self._piece)
        except OSError:
            pass
