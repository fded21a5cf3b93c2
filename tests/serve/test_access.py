"""Who is let in, and what every answer tells a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from nadirfix.errors import ServiceError
from nadirfix.serve.app import create_app
from nadirfix.serve.middleware import SECURITY_HEADERS
from nadirfix.serve.options import ServeOptions, is_this_machine
from tests.serving import LOCAL, TOKEN, FakeLocator, jpeg, small_bundle

PATHS = ["/", "/v1/bundle", "/v1/tiles/0/0/0.jpg", "/v1/references/0.jpg", "/v1/references.geojson",
         "/healthz", "/readyz", "/metrics", "/openapi.json", "/nothing/here"]  # fmt: skip
GUARDED = ["/v1/bundle", "/v1/tiles/0/0/0.jpg", "/v1/references/0.jpg", "/v1/references.geojson", "/metrics"]
OPEN = ["/", "/healthz", "/readyz", "/openapi.json"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> object:
    return small_bundle(tmp_path_factory.mktemp("bundle") / "b.nadir")


def client_of(bundle: object, page: Path | None = None, **options: object) -> TestClient:
    more = {} if page is None else {"page": page}
    app = create_app(bundle, ServeOptions(**options), locator=FakeLocator(), **more)
    return TestClient(app, base_url=LOCAL)


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_careful(bundle: object, path: str) -> None:
    client = client_of(bundle)
    for answer in (client.get(path), client.post(path), client.get(path, headers={"Host": "evil.example"})):
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name] == value, f"{answer.request.method} {answer.status_code}: {name}"
        assert answer.headers["x-request-id"] and answer.headers["cache-control"]
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_the_policy_lets_no_foreign_or_inline_code_run() -> None:
    policy = dict(part.split(" ", 1) for part in SECURITY_HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'"
    assert not any("unsafe" in v or "*" in v or "http" in v for v in policy.values())


@pytest.mark.parametrize("path", GUARDED)
def test_a_token_guards_what_matters(bundle: object, path: str) -> None:
    client = client_of(bundle, token=TOKEN)
    right = {"Authorization": f"Bearer {TOKEN}"}
    assert client.get(path, headers=right).status_code == 200
    wrong = [
        {},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": b"Bearer \xff\xfe"},
        {"X-Token": TOKEN},
    ]
    for headers in wrong:
        answer = client.get(path, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.json()["error"]["code"] == "service.token"
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("key", ["token", "access_token", "authorization", "api_key"])
def test_a_token_in_the_address_is_not_read(bundle: object, key: str) -> None:
    client = client_of(bundle, token=TOKEN)
    assert client.get("/v1/bundle", params={key: TOKEN}).status_code == 401
    assert client.get("/v1/bundle", params={key: f"Bearer {TOKEN}"}).status_code == 401


def test_photos_are_not_read_without_the_token(bundle: object) -> None:
    locator = FakeLocator()
    client = TestClient(create_app(bundle, ServeOptions(token=TOKEN), locator=locator), base_url=LOCAL)
    headers = {"Content-Type": "image/jpeg"}
    for path in ("/v1/locate", "/v1/locate/batch"):
        assert client.post(path, content=jpeg(), headers=headers).status_code == 401
    assert not locator.requests


@pytest.mark.parametrize("path", OPEN)
def test_the_page_and_the_health_need_no_token(bundle: object, path: str) -> None:
    assert client_of(bundle, token=TOKEN).get(path).status_code == 200


def test_the_comparison_takes_constant_time(bundle: object, monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or False)
    client_of(bundle, token=TOKEN).get("/v1/bundle", headers={"Authorization": "Bearer nearly"})
    assert compared == [(b"nearly", TOKEN.encode())]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_listening_elsewhere_needs_a_token(host: str) -> None:
    with pytest.raises(ServiceError) as refusal:
        ServeOptions(host=host)
    assert refusal.value.code == "service.token"
    assert ServeOptions(host=host, token=TOKEN).host == host


@pytest.mark.parametrize("token", ["", "tiny!", "with blanks in it and more", "ü" * 20])
def test_tokens_that_are_none(token: str) -> None:
    with pytest.raises(ServiceError) as refusal:
        ServeOptions(token=token)
    assert token == "" or token not in str(refusal.value)


def test_options_do_not_show_the_token() -> None:
    assert TOKEN not in repr(ServeOptions(token=TOKEN))


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("LocalHost", True), ("0.0.0.0", False), ("localhost.evil.example", False), ("", False)],
)  # fmt: skip
def test_names_of_this_machine(host: str, is_ours: bool) -> None:
    assert is_this_machine(host) == is_ours


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000"])
def test_own_names_are_answered(bundle: object, host: str) -> None:
    assert client_of(bundle).get("/v1/bundle", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "[", ""])
def test_other_names_are_refused_without_a_token(bundle: object, host: str) -> None:
    """A name of somebody else's may be made to point here, and their page would then be ours."""
    answer = client_of(bundle).get("/v1/bundle", headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "service.host")
    named = {"Host": host, "Authorization": f"Bearer {TOKEN}"}
    assert client_of(bundle, token=TOKEN).get("/v1/bundle", headers=named).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999", "http://["])
def test_pages_of_other_origins_are_refused(bundle: object, origin: str) -> None:
    client = client_of(bundle)
    for answer in (client.get("/v1/bundle", headers={"Origin": origin}),
                   client.post("/v1/locate", headers={"Origin": origin}, content=jpeg())):  # fmt: skip
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "service.origin")
        assert "access-control-allow-origin" not in answer.headers


def test_the_own_page_may_ask(bundle: object) -> None:
    assert client_of(bundle).get("/v1/bundle", headers={"Origin": LOCAL}).status_code == 200


def test_an_origin_that_was_named_may_ask(bundle: object) -> None:
    named = "https://map.example"
    client = client_of(bundle, allow_origins=(named,), token=TOKEN)
    preflight = {"Origin": named, "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "authorization"}  # fmt: skip
    before = client.options("/v1/locate", headers=preflight)
    assert before.status_code == 200 and before.headers["access-control-allow-origin"] == named
    headers = {"Origin": named, "Authorization": f"Bearer {TOKEN}"}
    answer = client.get("/v1/bundle", headers=headers)
    assert answer.headers["access-control-allow-origin"] == named
    other = client.get("/v1/bundle", headers={**headers, "Origin": "https://evil.example"})
    assert other.status_code == 403 and "access-control-allow-origin" not in other.headers


def test_without_a_built_page_it_says_how_to_get_it(bundle: object, tmp_path: Path) -> None:
    answer = client_of(bundle, tmp_path / "none").get("/")
    assert answer.status_code == 200 and "make setup" in answer.text
    assert "<script" not in answer.text and "style" not in answer.text
    assert client_of(bundle, tmp_path / "none").get("/v1/bundle").status_code == 200


def test_the_page_s_files_and_nothing_else(bundle: object, tmp_path: Path) -> None:
    page = tmp_path / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html><title>map</title>")
    (page / "assets" / "index-1a2b.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    client = client_of(bundle, page)
    assert "<title>map</title>" in client.get("/").text
    script = client.get("/assets/index-1a2b.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    again = client.get("/assets/index-1a2b.js", headers={"If-None-Match": script.headers["etag"]})
    assert again.status_code == 304 and not again.content
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/..%2fsecret.txt",
                 "/%2fsecret.txt", "/assets", "/%2f" + str(tmp_path / "secret.txt")):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == 404 and answer.json()["error"]["code"] == "service.not_found"
