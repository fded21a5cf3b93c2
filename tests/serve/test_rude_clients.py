"""The service against raw bytes: unclear framing, idle crowds, other sites, clients that do not wait."""

# ruff: noqa: E501 (a request in one line is easier to read than in two)
from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")

import httpx
from starlette.testclient import TestClient

from bench.lib.raw_requests import requests_of, send
from nadirfix.serve.app import create_app
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.queue.admission import Busy
from nadirfix.serve.queue.patience import Patience
from tests.serving import LOCAL, TOKEN, FakeLocator, Latch, jpeg, read_all, running, small_bundle, until

PHOTO = jpeg()
HASTY = ServeOptions(body_grace_s=0.5, header_s=0.5, idle_s=1.0, photo_bytes=1_000_000)
SMUGGLED = b"GET /v1/bundle HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return small_bundle(tmp_path_factory.mktemp("bundle") / "b.nadir")


@pytest.mark.parametrize(
    ("version", "headers"),
    [
        ("1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        ("1.1", "Transfer-Encoding: chunked\r\nContent-Length: 0"),
        ("1.0", "Transfer-Encoding: chunked"),
        ("1.1", "Content-Length: 5\r\nContent-Length: 6"),
        ("1.1", "Transfer-Encoding: identity, chunked"),
    ],
)
def test_a_request_without_a_clear_end_is_refused_and_what_follows_is_not_read(
    bundle: Any, version: str, headers: str
) -> None:
    start = (
        f"POST /v1/locate HTTP/{version}\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n{headers}\r\n\r\n"
    )
    with running(bundle, HASTY, FakeLocator()) as service, service.connect() as line:
        line.sendall(start.encode() + b"0\r\n\r\n" + SMUGGLED)
        answer = read_all(line)  # until the other side has closed
        assert answer.split(b" ")[1] in {b"400", b"501"} and b"service.request" in answer
        assert answer.count(b"HTTP/1.1 4") + answer.count(b"HTTP/1.1 5") == 1
        assert b"HTTP/1.1 2" not in answer


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n\x00\xff no request\r\n\r\n",
        b"POST /v1/locate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST /v1/locate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    ],
)
def test_bytes_that_cannot_be_read_behind_a_request_are_no_fault(
    bundle: Any, caplog: pytest.LogCaptureFixture, raw: bytes
) -> None:
    """Found by ``bench/speed/serve_raw.py``: the answer to the first came after the last one."""
    with running(bundle, HASTY, FakeLocator()) as service:
        for _ in range(5):
            with service.connect() as line, suppress(ConnectionResetError):
                line.sendall(raw)
                assert read_all(line).startswith(b"HTTP/1.1 ")
    assert "Traceback" not in caplog.text and "Error" not in caplog.text


def test_too_little_memory_is_503_and_says_so(bundle: Any) -> None:
    def without_memory(_photo: bytes, _parameters: Any) -> None:
        raise MemoryError

    client = TestClient(
        create_app(bundle, ServeOptions(), locator=FakeLocator(without_memory)),
        base_url=LOCAL,
        raise_server_exceptions=False,
    )
    answer = client.post("/v1/locate", content=PHOTO, headers={"Content-Type": "image/jpeg"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "machine.memory")
    assert int(answer.headers["retry-after"]) >= 1


def test_560_idle_connections_lock_nobody_out(bundle: Any) -> None:
    with running(bundle, ServeOptions(), FakeLocator()) as service:
        crowd = [service.connect() for _ in range(560)]
        try:
            for path in ("/healthz", "/readyz"):
                assert httpx.get(f"{service.url}{path}", timeout=10).status_code == 200
            assert len(service.server.server_state.connections) <= ServeOptions().most_client_connections + 2
        finally:
            for line in crowd:
                line.close()


def test_a_connection_at_work_is_not_closed_to_make_room(bundle: Any) -> None:
    latch = Latch()
    options = ServeOptions(client_connections=3)
    with running(bundle, options, FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        url, headers = f"{service.url}/v1/locate", {"Content-Type": "image/jpeg"}
        held = pool.submit(httpx.post, url, content=PHOTO, headers=headers, timeout=20)
        assert latch.entered.acquire(timeout=10)
        crowd = [service.connect() for _ in range(10)]
        until(lambda: len(service.server.server_state.connections) <= 3)
        latch.open.set()
        assert held.result().status_code == 200
        for line in crowd:
            line.close()


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
@pytest.mark.parametrize("path", ["/v1/bundle", "/v1/tiles/0/0/0.jpg", "/healthz", "/"])
def test_pictures_and_scripts_of_other_sites_are_refused_without_an_origin(
    bundle: Any, path: str, site: str
) -> None:
    client = TestClient(create_app(bundle, ServeOptions(), locator=FakeLocator()), base_url=LOCAL)
    answer = client.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "service.origin")
    posted = client.post("/v1/locate", content=PHOTO, headers={"Sec-Fetch-Site": site})
    assert posted.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
def test_the_own_page_and_links_to_it_are_answered(bundle: Any, headers: dict[str, str]) -> None:
    client = TestClient(create_app(bundle, ServeOptions(), locator=FakeLocator()), base_url=LOCAL)
    assert client.get("/", headers=headers).status_code == 200


def test_pages_that_were_allowed_may_show_pictures(bundle: Any) -> None:
    options = ServeOptions(allow_origins=("https://map.example",), token=TOKEN)
    client = TestClient(create_app(bundle, options, locator=FakeLocator()), base_url=LOCAL)
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/healthz", headers=foreign).status_code == 200
    assert client.post("/v1/locate", headers=foreign).status_code == 403


def clocked() -> tuple[Patience, list[float]]:
    now_s = [100.0]
    return Patience(clock=lambda: now_s[0]), now_s


def test_who_comes_before_its_time_has_it_begin_anew_and_stands_by_for_a_minute() -> None:
    patience, now_s = clocked()
    patience.refused(("a", 1), 4)
    for _ in range(5):
        now_s[0] += 2
        with pytest.raises(Busy) as refusal:
            patience.check(("a", 1), idle=False)
        assert refusal.value.retry_after_s == 4
    now_s[0] += 4
    patience.check(("a", 1), idle=True)
    with pytest.raises(Busy):
        patience.check(("a", 1), idle=False)
    now_s[0] += 61
    patience.check(("a", 1), idle=False)
    patience.check(("a", 1), idle=False)  # and owes nothing any more


def test_who_waits_as_it_was_told_owes_nothing() -> None:
    patience, now_s = clocked()
    patience.refused(("a", 1), 4)
    now_s[0] += 4
    patience.check(("a", 1), idle=False)
    patience.check(("a", 1), idle=False)


def test_who_dials_again_takes_its_time_along_and_others_do_not() -> None:
    patience, now_s = clocked()
    patience.refused(("a", 1), 4)
    patience.check(("a", 2), idle=False)  # another client of that address, while the first one waits
    patience.disconnected(("a", 1))
    patience.check(("b", 3), idle=False)
    with pytest.raises(Busy):
        patience.check(("a", 3), idle=False)
    patience.check(("a", 4), idle=False)
    patience.disconnected(("a", 3))
    with pytest.raises(Busy):
        patience.check(("a", 5), idle=False)
    patience.disconnected(("a", 5))
    now_s[0] += 60.1
    patience.check(("a", 6), idle=False)


def test_an_address_from_which_many_come_early_stands_by_as_a_whole() -> None:
    patience, now_s = clocked()
    for port in range(5):
        patience.refused(("a", port), 4)
        with pytest.raises(Busy):
            patience.check(("a", port), idle=False)
    with pytest.raises(Busy):
        patience.check(("a", 99), idle=False)
    patience.check(("a", 98), idle=True)
    patience.check(("b", 1), idle=False)
    now_s[0] += 61
    patience.check(("a", 97), idle=False)


def test_regular_clients_do_not_wait_for_those_who_do_not() -> None:
    patience, now_s = clocked()
    patience.answered(("a", 1))
    assert patience.refused(("a", 1), 20) == 20, "all wait alike, as long as all wait"
    now_s[0] += 20
    patience.check(("a", 1), idle=False)
    patience.refused(("b", 2), 20)
    with pytest.raises(Busy):
        patience.check(("b", 2), idle=False)
    assert patience.refused(("a", 1), 20) == 2
    assert patience.refused(("c", 3), 20) == 20, "nobody knows how this one will behave"


def test_nobody_is_refused_for_it_while_a_worker_is_idle() -> None:
    patience, _ = clocked()
    patience.refused(("a", 1), 4)
    patience.check(("a", 1), idle=True)


def test_a_client_that_does_not_wait_is_answered_late(bundle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nadirfix.serve.uploads.handler.HOLD_S", 0.4)
    latch = Latch()
    with running(bundle, ServeOptions(queue=1), FakeLocator(latch)) as service, ThreadPoolExecutor(1) as pool:
        url, headers = f"{service.url}/v1/locate", {"Content-Type": "image/jpeg"}
        held = pool.submit(httpx.post, url, content=PHOTO, headers=headers, timeout=20)
        assert latch.entered.acquire(timeout=10)
        with httpx.Client() as client:
            assert client.post(url, content=PHOTO, headers=headers).status_code == 429
            began_s = time.monotonic()
            again = client.post(url, content=PHOTO, headers=headers)
            assert again.status_code == 429 and "did not wait" in again.text
            assert time.monotonic() - began_s >= 0.4
            latch.open.set()
            assert held.result().status_code == 200
            assert client.post(url, content=PHOTO, headers=headers).status_code == 200


def test_raw_requests_get_no_fault_of_ours_and_none_hangs(bundle: Any) -> None:
    """A small part of what ``bench/speed/serve_raw.py`` sends, with the same seed."""
    with running(bundle, HASTY, FakeLocator()) as service:
        for kind, raw in requests_of(PHOTO, 120, seed=1):
            outcome = send(service.port, raw, limit_s=10.0)
            assert outcome.status is None or outcome.status < 500 or outcome.status == 501, (kind, raw[:200])
            assert not outcome.hangs, (kind, raw[:200])
        assert httpx.get(f"{service.url}/readyz").status_code == 200


def test_raw_requests_are_the_same_for_the_same_seed() -> None:
    assert list(requests_of(PHOTO, 50, seed=3)) == list(requests_of(PHOTO, 50, seed=3))
    assert len({raw for _, raw in requests_of(PHOTO, 200, seed=3)}) > 150


def test_an_answer_is_read_to_its_end_by_the_harness() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        outcome = send(listener.getsockname()[1], b"GET / HTTP/1.1\r\n\r\n", limit_s=0.3)
    assert outcome.hangs, "who never answers is found to hang"


def test_limits_hold_together() -> None:
    assert ServeOptions().most_requests < ServeOptions().most_client_connections
    assert replace(ServeOptions(), connections=5).most_client_connections == 2
