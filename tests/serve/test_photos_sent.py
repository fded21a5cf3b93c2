"""Photos uploaded by HTTP: what reaches the locator, what is answered, what is refused before it is read."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from nadirfix.camera import Camera
from nadirfix.errors import BundleError, InputError
from nadirfix.prior import Prior
from nadirfix.serve.app import create_app
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.uploads.parameters import RequestParameters, check_file_type, clean_name
from nadirfix.types import Point
from tests.serving import LOCAL, FakeLocator, form, jpeg, small_bundle

OPTIONS = ServeOptions(photo_bytes=100_000)
PHOTO = jpeg()
SMALL = Camera(640, 480, 500.0, 500.0)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> object:
    return small_bundle(tmp_path_factory.mktemp("bundle") / "b.nadir")


@pytest.fixture
def locator() -> FakeLocator:
    return FakeLocator()


@pytest.fixture
def client(bundle: object, locator: FakeLocator) -> Iterator[TestClient]:
    with TestClient(create_app(bundle, OPTIONS, locator=locator), base_url=LOCAL) as client:
        yield client


def send(client: TestClient, *fields: tuple[str, str | None, bytes], path: str = "/v1/locate"):
    body, kind = form(*fields)
    return client.post(path, content=body, headers={"Content-Type": kind})


def lines(response) -> list[dict]:
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_form_and_a_bare_photo_are_the_same(client: TestClient, locator: FakeLocator) -> None:
    given = {"camera": "640x480@500", "altitude": "300±20", "near": "14.35,48.86+-50", "heading": "-90±5"}
    fields = [(name, None, text.encode()) for name, text in given.items()]
    first = send(client, *fields, ("photo", "a.jpg", PHOTO))
    query = {**given, "name": "a.jpg"}
    second = client.post("/v1/locate", content=PHOTO, params=query, headers={"Content-Type": "image/jpeg"})
    assert first.status_code == second.status_code == 200
    assert (
        first.json()
        == second.json()
        == {"photo": "a.jpg", "status": "fix", "lon": 14.35, "bytes": len(PHOTO)}
    )
    prior = Prior(
        near=Point.from_lonlat(14.35, 48.86), near_sigma_m=50.0, heading_deg=-90.0, heading_sigma_deg=5.0,
        altitude_m=300.0, altitude_sigma_m=20.0,
    )  # fmt: skip
    parameters = RequestParameters(name="a.jpg", camera=SMALL, prior=prior)
    assert locator.requests == [(PHOTO, parameters), (PHOTO, parameters)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("near=14.35", "prior.invalid"),
        ("heading=north", "prior.invalid"),
        ("altitude=9@roof", "altitude.invalid"),
    ],
)
def test_what_cannot_be_known_is_an_error(client: TestClient, query: str, code: str) -> None:
    answer = client.post(f"/v1/locate?{query}", content=PHOTO, headers={"Content-Type": "image/jpeg"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_fields_may_follow_the_one_photo_and_be_empty(client: TestClient, locator: FakeLocator) -> None:
    fields = (
        ("photo", "a.jpg", PHOTO),
        ("camera", None, b""),
        ("altitude", None, b" "),
        ("other", None, b"x"),
    )
    assert send(client, *fields).status_code == 200
    assert locator.requests[0][1] == RequestParameters(name="a.jpg")


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\photos\\a.jpg", "a.jpg"),
        ("/", ""),
        ("a\nb\x00\x1b[31m.jpg", "ab[31m.jpg"),
        ("Größe 1.jpg", "Größe 1.jpg"),
        ("x" * 999, "x" * 200),
    ],
)
def test_names_lose_folders_and_control_characters(given: str, cleaned: str, client: TestClient) -> None:
    assert clean_name(given) == cleaned
    headers = {"Content-Type": "application/octet-stream"}
    if len(given) < 256:
        answer = client.post("/v1/locate", content=PHOTO, params={"name": given}, headers=headers)
        assert answer.json()["photo"] == cleaned


def test_a_camera_file_is_never_opened(client: TestClient, locator: FakeLocator, tmp_path: Path) -> None:
    secret = tmp_path / "camera.toml"
    secret.write_text("width_px = 640\nheight_px = 480\nfocal_px = 500\n")
    answer = send(client, ("camera", None, str(secret).encode()), ("photo", "a.jpg", PHOTO))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "camera.invalid")
    assert not locator.requests


BROKEN, KIND = form(("photo", "a.jpg", PHOTO))
REFUSED = {
    "no photo": (*form(("camera", None, b"640x480@500")), 400, "service.request"),
    "two photos": (*form(("photo", "a", PHOTO), ("photo", "b", PHOTO)), 400, "service.request"),
    "form breaks off": (BROKEN[:-20], KIND, 400, "service.request"),
    "not a form": (b"\x00" * 99, KIND, 400, "service.request"),
    "no boundary": (BROKEN, "multipart/form-data", 400, "service.request"),
    "long boundary": (BROKEN, f"multipart/form-data; boundary={'x' * 500}", 400, "service.request"),
    "many fields": (*form(*[(f"f{i}", None, b"x") for i in range(99)]), 400, "service.request"),
    "long field": (*form(("camera", None, b"x" * 999), ("photo", "a", PHOTO)), 400, "service.request"),
    "endless part header": (*form((f"photo{'x' * 9999}", "a", PHOTO)), 400, "service.request"),
    "altitude": (*form(("altitude", None, b"high"), ("photo", "a", PHOTO)), 422, "altitude.invalid"),
    "camera": (*form(("camera", None, b"big"), ("photo", "a", PHOTO)), 422, "camera.invalid"),
    "kind": (PHOTO, "application/x-www-form-urlencoded", 415, "service.media_type"),
    "no kind": (PHOTO, "", 415, "service.media_type"),
    "photo too large": (*form(("photo", "a", b"x" * 100_001)), 413, "service.too_large"),
    "body too large": (b"x" * 100_001, "image/jpeg", 413, "service.too_large"),
    "announced too large": (b"x" * 300_000, "image/jpeg", 413, "service.too_large"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused(case: str, client: TestClient, locator: FakeLocator) -> None:
    body, kind, status, code = REFUSED[case]
    answer = client.post("/v1/locate", content=body, headers={"Content-Type": kind})
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (status, code), body
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message", "hint"}
    assert not locator.requests


def test_a_body_without_a_length_is_counted_as_it_comes(client: TestClient, locator: FakeLocator) -> None:
    pieces = (b"x" * 30_000 for _ in range(10))
    answer = client.post("/v1/locate", content=pieces, headers={"Content-Type": "image/jpeg"})
    assert answer.status_code == 413 and not locator.requests


def test_errors_of_the_photo_keep_their_code(client: TestClient, locator: FakeLocator) -> None:
    def refuse(_photo: bytes, _parameters: RequestParameters) -> None:
        raise InputError("photo.too_small", "too small", seen="3 × 2 px", do="give the original")

    locator.action = refuse
    answer = send(client, ("photo", "a.jpg", PHOTO))
    assert answer.status_code == 422
    assert answer.json()["error"] == {
        "code": "photo.too_small", "message": "too small: 3 × 2 px", "hint": "Give the original",
    }  # fmt: skip


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError("secret path /srv/map"),
        BundleError("bundle.damaged", "damaged", seen="secret path /srv/map", do="copy it"),
    ],
)
def test_faults_of_ours_go_to_the_log_not_to_the_client(
    fault: Exception, client: TestClient, locator: FakeLocator, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_photo: bytes, _parameters: RequestParameters) -> None:
        raise fault

    locator.action = fail
    with caplog.at_level(logging.INFO, logger="nadirfix.serve"):
        answer = send(client, ("photo", "a.jpg", PHOTO))
    assert answer.status_code == 500 and "secret" not in answer.text
    number = answer.headers["x-request-id"]
    assert number in answer.json()["error"]["message"]
    assert any(number in r.getMessage() and "secret" in r.getMessage() for r in caplog.records)


def test_a_batch_answers_in_order_and_goes_on_after_a_bad_photo(
    client: TestClient, locator: FakeLocator
) -> None:
    def refuse_text(photo: bytes, _parameters: RequestParameters) -> None:
        check_file_type(photo)

    locator.action = refuse_text
    photos = [("photo", f"{i}.jpg", jpeg(seed=i)) for i in range(5)]
    photos[1] = ("photo", "text.jpg", b"not a picture")
    photos[3] = ("photo", "huge.jpg", b"x" * 100_001)
    answer = send(client, ("camera", None, b"640x480@500"), *photos, path="/v1/locate/batch")
    got = lines(answer)
    assert [g["photo"] for g in got] == ["0.jpg", "text.jpg", "2.jpg", "huge.jpg", "4.jpg"]
    assert [g["status"] for g in got] == ["fix", "error", "fix", "error", "fix"]
    assert [got[1]["error"]["code"], got[3]["error"]["code"]] == ["photo.unreadable", "service.too_large"]
    assert all(parameters.camera == Camera(640, 480, 500.0, 500.0) for _, parameters in locator.requests)


def test_a_fault_of_ours_is_one_photo_s_line_and_the_batch_goes_on(
    client: TestClient, locator: FakeLocator
) -> None:
    def fail_once(_photo: bytes, parameters: RequestParameters) -> None:
        if parameters.name == "b":
            raise RuntimeError("secret")

    locator.action = fail_once
    answer = send(client, *[("photo", name, PHOTO) for name in "abc"], path="/v1/locate/batch")
    got = lines(answer)
    assert [g["status"] for g in got] == ["fix", "error", "fix"]
    assert got[1]["error"]["code"] == "internal.error" and "secret" not in answer.text


def test_a_batch_that_breaks_off_says_so_at_the_end(client: TestClient) -> None:
    body, kind = form(("photo", "a.jpg", PHOTO), ("photo", "b.jpg", PHOTO))
    answer = client.post("/v1/locate/batch", content=body[:-30], headers={"Content-Type": kind})
    got = lines(answer)
    assert [g["photo"] for g in got] == ["a.jpg", None]
    assert got[1]["error"]["code"] == "service.request"


def test_a_field_after_the_photos_of_a_batch_is_too_late(client: TestClient) -> None:
    answer = send(client, ("photo", "a", PHOTO), ("altitude", None, b"300"), path="/v1/locate/batch")
    assert [g["status"] for g in lines(answer)] == ["fix", "error"]


@pytest.mark.parametrize("case", ["no photo", "not a form", "no boundary", "altitude", "kind", "long field"])
def test_a_batch_that_is_wrong_from_the_start_is_an_error(case: str, client: TestClient) -> None:
    body, kind, status, code = REFUSED[case]
    answer = client.post("/v1/locate/batch", content=body, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_too_many_photos_in_a_batch_end_it(bundle: object, locator: FakeLocator) -> None:
    few = replace(OPTIONS, batch_photos=2)
    with TestClient(create_app(bundle, few, locator=locator), base_url=LOCAL) as client:
        answer = send(client, *[("photo", f"{i}", PHOTO) for i in range(4)], path="/v1/locate/batch")
    got = lines(answer)
    assert got[-1]["error"]["code"] == "service.request" and len(locator.requests) <= 2


def test_nothing_is_written_to_disk(
    bundle: object, locator: FakeLocator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forms of a few megabytes are spooled to temporary files by most frameworks."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a temporary file was asked for")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("SpooledTemporaryFile", "TemporaryFile", "NamedTemporaryFile", "mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    large = replace(OPTIONS, photo_bytes=8_000_000)
    with TestClient(create_app(bundle, large, locator=locator), base_url=LOCAL) as client:
        assert send(client, ("photo", "a", b"x" * 5_000_000)).status_code == 200
        assert send(client, ("photo", "a", b"x" * 5_000_000), path="/v1/locate/batch").status_code == 200
    assert list(tmp_path.iterdir()) == []


def test_memory_for_uploads_is_shared_and_given_back(bundle: object, locator: FakeLocator) -> None:
    tight = replace(OPTIONS, upload_bytes=50_000)
    with TestClient(create_app(bundle, tight, locator=locator), base_url=LOCAL) as client:
        for _ in range(3):
            answer = send(client, ("photo", "a", b"x" * 60_000))
            assert answer.status_code == 429 and int(answer.headers["retry-after"]) >= 1
            assert send(client, ("photo", "a", b"x" * 40_000)).status_code == 200
        assert "nadirfix_upload_bytes 0.0" in client.get("/metrics").text
