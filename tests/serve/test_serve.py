"""The service from end to end: the same JSON as ``locate``, requests nobody thought of, kill -9 and back."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("torch")  # the bundle is built here

import httpx
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient

from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.cli.serve import _open_bundle
from nadirfix.errors import MapError
from nadirfix.runtime.backend import Backend, remember
from nadirfix.runtime.openvino import OpenVinoNetwork
from nadirfix.serve.app import create_app
from nadirfix.serve.options import ServeOptions
from tests.command import nadirfix
from tests.service_process import ServiceProcess
from tests.serving import LOCAL, TOKEN, form, jpeg
from tests.uploads import mutated

ROOT = Path(__file__).parents[2]
BOMB_LIMITS = replace(ServeOptions(), max_pixels=4_000_000, photo_bytes=2_000_000)


@pytest.fixture(scope="module", autouse=True)
def nothing_measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What this machine has measured is left out: few photos and many may run on different backends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NADIRFIX_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def client(tiny_bundle: Path) -> Iterator[TestClient]:
    app = create_app(Bundle.load(tiny_bundle), BOMB_LIMITS)
    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        yield client


def same(line: dict, other: dict) -> bool:
    """Whether two lines say the same; how long it took differs, and a client tells no folder."""
    varying = {"photo": Path(other["photo"]).name, "timings_ms": line["timings_ms"]}
    return line == {**other, **varying} and set(line["timings_ms"]) == set(other["timings_ms"])


@pytest.mark.parametrize("given", [{}, {"camera": "1024x768@550", "altitude": "150+-10"}])
def test_the_same_json_as_locate(
    client: TestClient, tiny_bundle: Path, tiny_photos: Path, tmp_path: Path, given: dict[str, str]
) -> None:
    text = tmp_path / "text.jpg"
    text.write_text("no picture")
    photos = [*sorted((tiny_photos / "photos").iterdir())[:3], text]
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    done = nadirfix("locate", *photos, "--bundle", tiny_bundle, "--quiet", *options)
    *expected, refused = [json.loads(line) for line in done.stdout.splitlines()]
    fields = [(name, None, value.encode()) for name, value in given.items()]
    body, kind = form(*fields, *[("photo", p.name, p.read_bytes()) for p in photos])
    batch = client.post("/v1/locate/batch", content=body, headers={"Content-Type": kind})
    *lines, error = [json.loads(line) for line in batch.text.splitlines()]
    query = {**given, "name": photos[0].name}
    headers = {"Content-Type": "image/jpeg"}
    bare = client.post("/v1/locate", content=photos[0].read_bytes(), params=query, headers=headers).json()
    assert len(lines) == len(expected) == 3
    assert all(same(a, b) for a, b in zip(lines, expected, strict=True))
    assert same(bare, expected[0]) and list(bare) == list(expected[0])
    assert list(error) == list(refused) and error["error"]["code"] == refused["error"]["code"]
    assert error["photo"] == "text.jpg" and error["error"]["hint"] == refused["error"]["hint"]


def test_mutated_uploads_never_break_it(
    client: TestClient, tiny_photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    photos = [jpeg(320, 240), *(p.read_bytes() for p in sorted((tiny_photos / "photos").iterdir())[:1])]
    statuses: Counter[int] = Counter()
    for upload in mutated(photos, 200, seed=8):
        headers = {"Content-Type": upload.content_type}
        answer = client.post(upload.path, content=upload.body, headers=headers)
        assert answer.status_code < 500, f"{upload.kind}: {answer.text}"
        assert "internal.error" not in answer.text, f"{upload.kind}: {answer.text}"
        statuses[answer.status_code] += 1
    print(statuses)
    assert set(statuses) >= {200, 400, 413, 415, 422}
    assert list(tmp_path.iterdir()) == []
    assert client.get("/readyz").status_code == 200


def test_requests_nobody_thought_of(tiny_bundle: Path) -> None:
    """Schemathesis makes requests from the service's own description and checks the answers against it."""
    schemathesis = pytest.importorskip("schemathesis")
    app = create_app(Bundle.load(tiny_bundle), BOMB_LIMITS)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "127.0.0.1"})
    statuses: Counter[int] = Counter()
    for operation in schema.get_all_operations():
        try_out(operation.ok(), statuses)
    print(statuses)
    assert sum(statuses.values()) > 60 and set(statuses) >= {200, 404}


def try_out(operation: Any, statuses: Counter[int]) -> None:
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    @settings(max_examples=15, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        answer = case.call(headers={"Host": "127.0.0.1"})
        statuses[answer.status_code] += 1
        # A description cannot say what a picture is: most of these are none, and refused with 4xx.
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    check()


@pytest.fixture
def service(tiny_bundle: Path, tmp_path: Path) -> Iterator[ServiceProcess]:
    with ServiceProcess(tiny_bundle, tmp_path, token=TOKEN, measure=False) as service:
        yield service


def test_killed_under_load_it_comes_back_whole(service: ServiceProcess, tiny_photos: Path) -> None:
    photo = next((tiny_photos / "photos").iterdir()).read_bytes()
    answers: list[int] = []
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20) as client:
            while not over.is_set():
                with contextlib.suppress(httpx.TransportError):
                    headers = {"Content-Type": "image/jpeg"}
                    answer = client.post(f"{service.url}/v1/locate", content=photo, headers=headers)
                    answers.append(answer.status_code)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    while answers.count(200) < 5:
        time.sleep(0.02)
    assert service.end(signal.SIGKILL) == -signal.SIGKILL
    over.set()
    for thread in threads:
        thread.join()
    assert service.left_behind == []
    assert nadirfix("check", service.bundle).returncode == 0
    service.start()
    the_client_in_the_examples_works(service, sorted((tiny_photos / "photos").iterdir())[:2])
    assert set(answers) <= {200, 429}
    assert service.end(signal.SIGTERM) == 0
    assert service.left_behind == []
    assert TOKEN not in service.log and "Traceback" not in service.log


def the_client_in_the_examples_works(service: ServiceProcess, photos: list[Path]) -> None:
    environment = {**os.environ, "NADIRFIX_TOKEN": TOKEN}
    command = [sys.executable, ROOT / "examples" / "locate_client.py", "--url", service.url, *photos]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["photo"], line["status"]) for line in lines] == [(p.name, "unverified") for p in photos]


def test_networks_run_on_the_fastest_backend_known_and_on_one_thread_where_each_core_has_a_photo(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow to open: where many photos come it is taken all the same."""
    pytest.importorskip("openvino")
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path))
    monkeypatch.setattr("nadirfix.serve.options.cores", lambda: 2)
    took_ms = {
        "onnxruntime single": (5.0, 10),
        "openvino single": (4.0, 9000),
    }
    measured = {
        way: {"median_ms": run, "open_ms": first, "sound": True} for way, (run, first) in took_ms.items()
    }
    files = [Bundle.load(tiny_bundle).network_files(part) for part in (parts.ALTITUDE, parts.PLACE)]
    for one in files:
        remember(one, Backend(), measured)
    opened = _open_bundle(tiny_bundle, ServeOptions(), quiet=True)
    for network in (opened.altitude_network, opened.place_network):
        assert isinstance(network, OpenVinoNetwork)
        assert network._threads == 1


@pytest.mark.parametrize("small", [False, True])
def test_backends_are_measured_once_before_any_request_is_accepted_unless_switched_off(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    measured: list[Path] = []

    def find(bundle: Bundle) -> None:
        measured.append(bundle.path)
        if small:
            raise MapError("map.too_small", "no room", seen="a garden", do="take a larger map")
        for part in (parts.ALTITUDE, parts.PLACE):
            remember(bundle.network_files(part), Backend(), {})

    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path))
    monkeypatch.setattr("nadirfix.offline.tune.tune_backends", find)
    _open_bundle(tiny_bundle, ServeOptions(measure=False), quiet=True)
    assert measured == []
    for _ in range(2):
        assert _open_bundle(tiny_bundle, ServeOptions(), quiet=True).path == tiny_bundle
    assert len(measured) == (2 if small else 1)  # of a map too small nothing is known the next time


def test_a_port_in_use_and_a_missing_bundle_are_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        in_use = nadirfix("serve", "--bundle", tmp_path / "none.nadir", "--port", port)
    assert in_use.returncode == 8 and "[service.address]" in in_use.stderr
    missing = nadirfix("serve", "--bundle", tmp_path / "none.nadir", "--port", port)
    assert missing.returncode == 4 and "[bundle.missing]" in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--host", "0.0.0.0"], {}),
        (["--host", "0.0.0.0"], {"NADIRFIX_TOKEN": "short"}),
        (["--token-file", "none.txt"], {}),
    ],
)
def test_no_way_out_without_a_token(arguments: list[str], environment: dict, tmp_path: Path) -> None:
    done = nadirfix("serve", "--bundle", "x.nadir", *arguments, env=environment, cwd=tmp_path)
    assert done.returncode == 8 and "[service.token]" in done.stderr
