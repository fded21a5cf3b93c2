"""What a client can make the service hold or wait for is limited: bytes, silence, forms, connections."""

from __future__ import annotations

import asyncio
import io
import platform
import re
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest

pytest.importorskip("fastapi")

import httpx
import numpy as np
from PIL import Image
from starlette.testclient import TestClient

from nadirfix.bundle import References
from nadirfix.errors import InputError
from nadirfix.serve.app import create_app
from nadirfix.serve.locator import PhotoLocator
from nadirfix.serve.options import QueueOptions, ServeOptions
from nadirfix.serve.queue.work_queue import Busy, ClientGone, WorkQueue
from nadirfix.serve.uploads.body import MemoryBudget
from nadirfix.serve.uploads.parameters import RequestParameters
from tests.serving import (
    EPSG,
    LOCAL,
    NORTH_M,
    WEST_M,
    FakeLocator,
    Latch,
    Running,
    form,
    head,
    jpeg,
    read_all,
    run_async,
    running,
    small_bundle,
    until,
)  # fmt: skip

PHOTO = jpeg()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return small_bundle(tmp_path_factory.mktemp("bundle") / "b.nadir")


def metric(service: Running, name: str) -> float:
    text = httpx.get(f"{service.url}/metrics").text
    return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1])  # type: ignore[index]


def test_a_batch_that_hangs_up_gives_its_bytes_back_once(bundle: Any) -> None:
    """One photo running, another half uploaded: both are counted, and neither is released twice."""
    body, kind = form(("photo", "a.jpg", PHOTO), ("photo", "b.jpg", PHOTO))
    latch = Latch()
    with running(bundle, ServeOptions(), FakeLocator(latch)) as service:
        with service.connect() as line:
            line.sendall(head(service, len(body), path="/v1/locate/batch", kind=kind) + body[:-500])
            assert latch.entered.acquire(timeout=10)
            until(lambda: metric(service, "nadirfix_upload_bytes") > len(PHOTO))
        until(lambda: metric(service, "nadirfix_upload_bytes") <= 0)
        latch.open.set()
        until(lambda: metric(service, "nadirfix_queue_length") == 0)
        assert metric(service, "nadirfix_upload_bytes") == 0


def test_a_lease_releases_no_more_than_it_holds() -> None:
    budget = MemoryBudget(100)
    with budget.lease() as lease:
        lease.acquire(30)
        lease.release(50)
        assert (lease.held_bytes, budget.held_bytes) == (0, 0)
    assert budget.held_bytes == 0


class Work:
    """Stands for a photo: work that can be watched being forgotten."""

    def __call__(self) -> int:
        return 1


def test_a_job_nobody_waits_for_is_forgotten_with_all_it_holds() -> None:
    async def scenario() -> None:
        first = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0.05)
        work = Work()
        reference = weakref.ref(work)
        disconnected = asyncio.create_task(asyncio.sleep(0.05))
        with pytest.raises(ClientGone):
            await queue.submit(work, timeout_s=20, disconnected=disconnected)
        del work
        assert reference() is None, "the photo is kept although nobody wants it"
        assert not first.done()
        latch.set()
        await first

    latch, queue = threading.Event(), WorkQueue(capacity=5, options=QueueOptions(deviations=0.0))
    run_async(scenario())
    assert queue.stop(5)


def test_a_reservation_is_a_place_until_it_expires() -> None:
    async def scenario() -> None:
        with queue.reserve() as reservation:
            assert queue.pending == 1
            with pytest.raises(Busy), queue.reserve():
                pass
            assert await queue.submit(lambda: 1, timeout_s=5, reservation=reservation) == 1
        with queue.reserve() as slow:
            await asyncio.sleep(0.25)
            assert queue.pending == 0  # a slow upload blocks nobody
            with queue.reserve() as quick:
                with pytest.raises(Busy):
                    await queue.submit(lambda: 2, timeout_s=5, reservation=slow)
                assert await queue.submit(lambda: 3, timeout_s=5, reservation=quick) == 3
        assert queue.pending == 0

    queue = WorkQueue(capacity=1, options=QueueOptions(reservation_s=0.2))
    run_async(scenario())
    assert queue.stop(5)


def test_an_accepted_photo_is_not_refused_when_its_upload_is_complete(bundle: Any) -> None:
    """The place is reserved before the body arrives: another photo in between gets 429, and costs nothing."""
    options = ServeOptions(queue=1, queueing=QueueOptions(reservation_s=20.0))
    locator = FakeLocator()
    with running(bundle, options, locator) as service, service.connect() as line:
        line.sendall(head(service, len(PHOTO)) + PHOTO[:100])
        until(lambda: metric(service, "nadirfix_queue_length") == 1)
        refused = httpx.post(
            f"{service.url}/v1/locate", content=PHOTO, headers={"Content-Type": "image/jpeg"}
        )
        assert refused.status_code == 429
        line.sendall(PHOTO[100:])
        assert line.recv(15) == b"HTTP/1.1 200 OK"
    assert len(locator.requests) == 1


@pytest.mark.parametrize("how", ["HTTP/1.1 close", "HTTP/1.0", "chunked"])
def test_a_client_that_sends_everything_before_reading_and_then_closes_still_reads_why_not(
    bundle: Any, how: str
) -> None:
    """As Python's own client does: a photo that does not fit into the sockets, and Connection: close."""
    latch, large = Latch(), 20_000_000
    with running(bundle, ServeOptions(queue=1), FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        url, headers = f"{service.url}/v1/locate", {"Content-Type": "image/jpeg"}
        held = pool.submit(httpx.post, url, content=PHOTO, headers=headers, timeout=20)
        assert latch.entered.acquire(timeout=10)
        start = head(service, large).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        if how == "HTTP/1.0":
            start = head(service, large).replace(b"HTTP/1.1", b"HTTP/1.0")
        body = bytes(large)
        if how == "chunked":
            start = start.replace(b"Content-Length: 20000000", b"Transfer-Encoding: chunked")
            body = b"1312D00\r\n" + body + b"\r\n0\r\n\r\n"
        with service.connect() as line:
            line.sendall(start + body)
            assert b" 429 " in read_all(line).partition(b"\r\n")[0]
        latch.open.set()
        assert held.result().status_code == 200


def test_retry_after_is_shorter_than_an_idle_connection_is_kept(bundle: Any) -> None:
    async def wait_s(options: ServeOptions) -> int:
        latch, queue = threading.Event(), WorkQueue(capacity=1, options=options.queue_options)
        held = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0)
        for _ in range(100):
            with pytest.raises(Busy) as refusal, queue.reserve():
                pass
        latch.set()
        await held
        return refusal.value.retry_after_s

    slow = QueueOptions(prior_mean_s=100.0)
    for idle_s in (75.0, 20.0):
        assert 10 < run_async(wait_s(ServeOptions(idle_s=idle_s, queueing=slow))) < idle_s


def test_a_quick_start_earns_no_long_silence(bundle: Any) -> None:
    """A megabyte at the least bearable pace takes a minute; it must not buy a minute of silence."""
    hasty = ServeOptions(body_grace_s=0.3)
    with running(bundle, hasty, FakeLocator()) as service, service.connect() as line:
        began_s = time.monotonic()
        line.sendall(head(service, 2_000_000) + b"x" * 1_000_000)
        assert b" 408 " in read_all(line).partition(b"\r\n")[0]
        assert time.monotonic() - began_s < 5


def endless(*starts: bytes, piece: bytes) -> Any:
    """A body without an end, sent without its length; a megabyte is more than enough."""
    yield from starts
    for _ in range(2000):
        yield piece


OPENING = b'--cut\r\nContent-Disposition: form-data; name="photo"; filename="a"\r\n\r\n'


@pytest.mark.parametrize("path", ["/v1/locate", "/v1/locate/batch"])
@pytest.mark.parametrize(
    "starts", [[OPENING], [OPENING, b"x\r\n--cut--\r\n"], [b"\r\n"]], ids=["photo", "after", "before"]
)
def test_a_form_without_an_end_is_too_large(bundle: Any, path: str, starts: list[bytes]) -> None:
    options = ServeOptions(photo_bytes=100_000)
    piece = b"\r\n" * 500 if starts == [b"\r\n"] else b"x" * 1000
    with running(bundle, options, FakeLocator()) as service:
        answer = httpx.post(
            f"{service.url}{path}",
            content=endless(*starts, piece=piece),
            headers={"Content-Type": "multipart/form-data; boundary=cut"},
            timeout=20,
        )
        assert '"service.too_large"' in answer.text
        assert metric(service, "nadirfix_upload_bytes") == 0


@pytest.fixture
def wide_bundle(bundle: Any) -> Any:
    """A bundle with so many references that they do not fit into the sockets between us."""
    count = 60_000
    many = References(
        east_m=np.full(count, WEST_M), north_m=np.full(count, NORTH_M), heading_deg=np.zeros(count),
        cell=np.zeros((count, 2), int), starts=np.array([0, count]), epsg=EPSG,
    )  # fmt: skip
    return SimpleNamespace(**{**vars(bundle), "references": many})


def test_a_client_that_does_not_read_is_given_up(wide_bundle: Any) -> None:
    hasty = ServeOptions(send_s=0.3, header_s=0.3, idle_s=0.5)
    with running(wide_bundle, hasty, FakeLocator()) as service, service.connect() as line:
        connections = service.server.server_state.connections
        line.sendall(b"GET /v1/references.geojson HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: len(connections) == 1)
        until(lambda: len(connections) == 0)


def test_a_client_that_does_not_read_its_last_answer_is_given_up_when_idle(
    bundle: Any, tmp_path: Path
) -> None:
    """The answer is written at once, and the connection is idle then: closing it would wait for ever."""
    (tmp_path / "index.html").write_bytes(b"x" * 30_000_000)
    hasty = ServeOptions(header_s=0.3, idle_s=0.5)
    with running(bundle, hasty, FakeLocator(), page=tmp_path) as service, service.connect() as line:
        connections = service.server.server_state.connections
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: len(connections) == 1)
        until(lambda: len(connections) == 0)


def test_more_requests_than_allowed_are_429(bundle: Any) -> None:
    latch = Latch()
    with (
        running(bundle, ServeOptions(requests=1), FakeLocator(latch)) as service,
        ThreadPoolExecutor(1) as pool,
    ):
        url, headers = f"{service.url}/v1/locate", {"Content-Type": "image/jpeg"}
        held = pool.submit(httpx.post, url, content=PHOTO, headers=headers, timeout=20)
        assert latch.entered.acquire(timeout=10)
        answer = httpx.get(f"{service.url}/healthz")
        assert answer.status_code == 429 and "2 in progress" in answer.json()["error"]["message"]
        latch.open.set()
        assert held.result().status_code == 200
        assert httpx.get(f"{service.url}/healthz").status_code == 200


def test_a_long_queue_that_is_full_leaves_health_checks_open(bundle: Any) -> None:
    """As 25 cores have it by default."""

    async def scenario() -> tuple[int, int, set[int]]:
        transport = httpx.ASGITransport(create_app(bundle, options, locator=FakeLocator(latch)))
        async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as client:
            locate = partial(client.post, "/v1/locate", content=PHOTO, headers={"Content-Type": "image/jpeg"})
            posted = [asyncio.create_task(locate()) for _ in range(options.queue)]
            assert await asyncio.to_thread(latch.entered.acquire, timeout=10)
            healthy, refused = await client.get("/healthz"), await locate()
            latch.open.set()
            answers = await asyncio.gather(*posted)
        return healthy.status_code, refused.status_code, {answer.status_code for answer in answers}

    latch, options = Latch(), ServeOptions(queue=200, at_once=1, queueing=QueueOptions(deviations=0.0))
    assert run_async(scenario()) == (200, 429, {200})


@pytest.mark.parametrize(("queue", "expected"), [(16, (128, 512)), (256, (512, 1024))])
def test_requests_and_connections_go_by_the_queue(queue: int, expected: tuple[int, int]) -> None:
    options = ServeOptions(queue=queue)
    assert (options.most_requests, options.most_connections) == expected
    fixed = replace(options, requests=1, connections=2)
    assert (fixed.most_requests, fixed.most_connections) == (1, 2)


def test_a_photo_that_is_stuck_does_not_hold_up_stopping(
    bundle: Any, caplog: pytest.LogCaptureFixture
) -> None:
    latch = Latch()
    options = ServeOptions(stop_s=1.0, last_s=0.2)
    with ThreadPoolExecutor(1) as pool, running(bundle, options, FakeLocator(latch)) as service:
        url, headers = f"{service.url}/v1/locate", {"Content-Type": "image/jpeg"}
        posted = pool.submit(httpx.post, url, content=PHOTO, headers=headers, timeout=20)
        assert latch.entered.acquire(timeout=10)
        began_s = time.monotonic()
        service.stop()
        service.thread.join(10)
        assert not service.thread.is_alive(), "the photo holds up the end"
        assert 0.9 < time.monotonic() - began_s < 8
        answer = posted.result()
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service.stopping")
        assert "left behind" in caplog.text and "Traceback" not in caplog.text
        latch.open.set()


def test_the_program_ends_although_something_is_stuck() -> None:
    code = (
        "import asyncio, time\n"
        "from nadirfix.serve.queue.work_queue import WorkQueue\n"
        "queue = WorkQueue(capacity=1)\n"
        "async def scenario():\n"
        "    try: await queue.submit(lambda: time.sleep(60), timeout_s=0.1)\n"
        "    except Exception as error: print(error.code)\n"
        "asyncio.run(scenario())\n"
        "print(queue.stop(0.1))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout.split()) == (0, ["service.timeout", "False"]), done.stderr


def test_what_the_service_warms_up_with_lies_nowhere_on_its_map(bundle: Any) -> None:
    """East is on its left: so every way to find it is tried before the first client comes."""
    warm_ups: list[tuple[float, float]] = []

    class Watched(PhotoLocator):
        def __call__(self, photo: bytes, parameters: RequestParameters) -> dict[str, Any]:
            picture = np.asarray(Image.open(io.BytesIO(photo)).convert("RGB"), float)[..., 0]
            middle = picture.shape[1] // 2
            step = float(np.median(picture[:, middle - 20]) - np.median(picture[:, middle + 20]))
            warm_ups.append((parameters.prior.altitude_m or 0.0, step))
            return {}

    Watched(bundle, ServeOptions()).warm_up()
    assert [altitude_m for altitude_m, _ in warm_ups] == [125.0, bundle.recipe.bins.max_m]
    assert all(step > 0 for _, step in warm_ups), "red grows to the east, so it falls to the right here"


HEAPS = """
import ctypes, sys, threading
from nadirfix.serve.server import one_heap
if sys.argv[1] == "one":
    one_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes, libc.malloc_info.argtypes = [ctypes.c_void_p], [ctypes.c_int, ctypes.c_void_p]
barrier = threading.Barrier(5)
def allocate():
    barrier.wait(), libc.malloc(5000), barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads:
    thread.start()
barrier.wait(), barrier.wait()
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, file), libc.fclose(file)
print(open(sys.argv[2]).read().count("<heap nr="))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have one heap anyway")
def test_threads_share_one_heap(tmp_path: Path) -> None:
    def heaps(how: str) -> int:
        command = [sys.executable, "-c", HEAPS, how, str(tmp_path / "heaps.xml")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return int(done.stdout)

    assert heaps("one") == 1 < heaps("many")


def test_methods_made_up_by_clients_are_counted_as_one(bundle: Any) -> None:
    client = TestClient(create_app(bundle, ServeOptions(), locator=FakeLocator()), base_url=LOCAL)
    for number in range(5):
        client.request(f"MADE{number}", "/healthz")
    text = client.get("/metrics").text
    assert "MADE" not in text and 'method="other"' in text


def test_metrics_publish_the_waits_that_decide(bundle: Any) -> None:
    options = ServeOptions(queue=16, at_once=2, queueing=QueueOptions(prior_mean_s=0.5, prior_variation=0.5))
    text = TestClient(create_app(bundle, options, locator=FakeLocator()), base_url=LOCAL).get("/metrics").text
    values = dict(
        line.split(" ") for line in text.splitlines() if line.startswith("nadirfix_") and "{" not in line
    )
    assert float(values["nadirfix_wait_seconds_expected"]) == 0.5
    assert float(values["nadirfix_wait_seconds_bound"]) == 4.0  # an answer every 0.25 s
    assert float(values["nadirfix_photos_stuck"]) == 0
    assert 2 <= float(values["nadirfix_queue_places"]) < 16
    assert float(values["nadirfix_photo_seconds_spread"]) == 0.5


@pytest.mark.parametrize(
    ("count", "given", "expected"),
    [
        (1, {}, (16, 1, 1)),
        (2, {}, (16, 2, 1)),
        (16, {}, (128, 16, 1)),
        (16, {"queue": 16}, (16, 2, 8)),
        (2, {"queue": 4}, (4, 1, 2)),
    ],
)
def test_every_core_has_a_photo_as_far_as_the_queue_is_long_enough(
    monkeypatch: pytest.MonkeyPatch, count: int, given: dict[str, int], expected: tuple[int, int, int]
) -> None:
    monkeypatch.setattr("nadirfix.serve.options.cores", lambda: count)
    options = ServeOptions(**given)
    assert (options.queue, options.workers, options.threads) == expected


@pytest.mark.parametrize("at_once", [0, -1])
def test_at_least_one_photo_must_be_located_at_a_time(at_once: int) -> None:
    with pytest.raises(InputError, match=f"at_once {at_once}"):
        ServeOptions(at_once=at_once)


def test_help_says_that_the_queue_sets_how_many_photos_run_at_once() -> None:
    from nadirfix.cli.serve import serve

    (option,) = get_type_hints(serve, include_extras=True)["queue"].__metadata__
    assert "one in 8 runs at the same time" in option.help


def test_a_map_that_a_token_may_protect_is_kept_by_no_cache_in_between(bundle: Any) -> None:
    client = TestClient(create_app(bundle, ServeOptions(), locator=FakeLocator()), base_url=LOCAL)
    description = client.get("/v1/bundle").json()
    for path in (description["tiles"]["url"].format(z=description["tiles"]["max_zoom"], x=0, y=0),
                 description["references"]["url"].format(row=0)):  # fmt: skip
        cache_control = client.get(path).headers["cache-control"]
        assert cache_control.startswith("private, max-age=") and "public" not in cache_control


def test_pictures_that_are_late_are_not_called_photos() -> None:
    async def scenario() -> str:
        with pytest.raises(Exception) as late:
            await queue.submit(lambda: time.sleep(0.3), timeout_s=0.05)
        return str(late.value)

    queue = WorkQueue(capacity=1, noun="picture")
    assert "the picture was not ready" in run_async(scenario())
    assert queue.stop(5)


def test_requests_of_the_page_go_to_the_service_alone() -> None:
    from nadirfix.serve.middleware import CONTENT_POLICY

    assert "connect-src 'self';" in CONTENT_POLICY


def test_defaults_hold_together() -> None:
    usual = ServeOptions()
    assert usual.queue_options.max_retry_s < usual.idle_s
    assert replace(usual, idle_s=10.0).queue_options.max_retry_s == 8.0
