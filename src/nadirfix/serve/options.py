"""Where the service listens, and its limits; light enough for ``--help``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace

from nadirfix.errors import InputError, ServiceError
from nadirfix.parallel import cores

__all__ = [
    "BODY_MIN_BYTES_S",
    "DECODE_S",
    "DRAIN_S",
    "EXPECTED_PHOTOS",
    "FOREVER",
    "FORM_FIELDS",
    "FORM_HEADERS",
    "FORM_HEADER_BYTES",
    "FORM_SPARE_BYTES",
    "HEADER_BYTES",
    "HOLD_S",
    "LONGEST_NAME",
    "LONGEST_TEXT",
    "MAX_RETRY_QUEUES",
    "MOST_HELD",
    "OVERSIZE_FACTOR",
    "PICTURE_QUALITY",
    "REFERENCE_WIDTH_PX",
    "RETRY_S",
    "RETRY_SOON_S",
    "SHORTEST_TOKEN",
    "TILE_CACHE_BYTES",
    "TILE_PX",
    "TILE_QUEUE",
    "QueueOptions",
    "ServeOptions",
    "is_this_machine",
]

#: Characters a token needs at least: 16 random ones cannot be guessed by trying.
SHORTEST_TOKEN = 16

#: Longest camera, altitude or name a client may send, in characters.
LONGEST_TEXT = 256
#: Characters that are kept of a photo's name.
LONGEST_NAME = 200
#: Cache-Control for what has a hash of its content in its address; ``public`` or ``private`` comes before it.
FOREVER = "max-age=31536000, immutable"
#: Retry-After where no queue can estimate it: after something short, after something long.
RETRY_SOON_S, RETRY_S = 1, 5
#: Retry-After is at most so many full queues.
MAX_RETRY_QUEUES = 4
#: A client that comes back before its time is answered after so long, as far as not too many are held so.
HOLD_S, MOST_HELD = 3.0, 48
#: The fastest backend is chosen for so many photos: loading it does not count then.
EXPECTED_PHOTOS = 100_000
#: Bytes a second that a body must bring beyond its grace, and bytes of an address with its headers.
BODY_MIN_BYTES_S, HEADER_BYTES = 16_384.0, 16_384
#: A photo that is no ordinary JPEG is decoded within this time.
DECODE_S = 20.0
#: A refused client may go on sending for so long before it reads the answer.
DRAIN_S = 10.0
#: Width and height of a tile.
TILE_PX = 256

_MIB = 2**20
#: Places for each worker: the longest wait is so many times the mean service time, enough for a photo that
#: takes far longer than usual.
_QUEUE_PER_WORKER = 8
#: More than the server hands over of a body at once: a chunk may end one photo and begin the next.
_CHUNK_BYTES = _MIB
#: What a form may have besides its photos: fields and files that are not called photo, and headers of each.
FORM_FIELDS, FORM_HEADERS, FORM_HEADER_BYTES = 16, 8, 2048
#: Bytes of a form before, between and after its parts.
FORM_SPARE_BYTES = 65_536
#: In a batch, a photo too large is skipped up to so many times the limit.
OVERSIZE_FACTOR = 2.0
#: JPEG quality of tiles and reference views, and how wide the latter are.
PICTURE_QUALITY, REFERENCE_WIDTH_PX = 85, 512
#: Tiles that wait to be drawn, and those that are kept.
TILE_QUEUE, TILE_CACHE_BYTES = 64, 32 * _MIB
#: However short the queue is, so many requests and connections are accepted.
_LEAST_REQUESTS, _LEAST_CONNECTIONS = 128, 512


@dataclass(frozen=True, kw_only=True)
class QueueOptions:
    """How the queue estimates service times, and what it promises from them."""

    reservation_s: float = 1.0  # a reservation is kept so long for a photo that is being uploaded
    prior_mean_s: float = 0.5  # service time of one job, before any has been measured
    prior_variation: float = 0.5  # deviation over mean, likewise
    prior_weight: float = 8.0  # the prior weighs as much as so many jobs
    latest_weight: float = 0.02  # weight of the latest job in the running mean
    deviations: float = 3.5  # of the wait, that must still be within the bound; 0: count jobs only
    max_retry_s: float = 60.0  # Retry-After is at most this, nor more than MAX_RETRY_QUEUES


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Where the service listens, and its limits."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    allow_origins: tuple[str, ...] = ()  # pages of other origins that are allowed
    queue: int = field(default_factory=lambda: max(16, _QUEUE_PER_WORKER * cores()))  # pending photos
    at_once: int | None = (
        None  # located at the same time; None: one per core, as far as the queue is long enough
    )
    measure: bool = True  # at the start, find the fastest library, where that is not known
    photo_s: float = 60.0  # from when a photo is accepted until its answer
    photo_bytes: int = 64 * _MIB
    max_pixels: int = 64_000_000
    batches: int = 4  # at the same time, each with one pending photo, and more while workers are idle
    batch_photos: int = 1000
    upload_bytes: int = 256 * _MIB  # photos of all clients in memory together
    body_grace_s: float = 10.0  # a body may be waited for so long, and longer the more of it has arrived
    send_s: float = 30.0  # for a client that does not read its answer
    header_s: float = 10.0  # from the first byte of a request to the last of its headers
    idle_s: float = 75.0  # a connection between two requests; longer than any Retry-After
    queueing: QueueOptions = field(default_factory=QueueOptions)
    requests: int | None = None  # in progress at the same time; None: twice the queue, or more
    connections: int | None = None  # None: twice the requests, or more
    client_connections: int | None = None  # of one address; None: half of them
    stop_s: float = 60.0  # shutting down: accepted photos are finished within this
    last_s: float = 5.0  # and jobs nobody waits for any more within this

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise InputError(
                "options.invalid",
                "no photo would be located",
                seen=f"at_once {self.at_once}",
                do="give at_once from 1, or leave it out",
            )
        if self.token is not None and not _is_valid_token(self.token):
            raise _bad_token()
        if self.token is None and not is_this_machine(self.host):
            raise ServiceError(
                "service.token",
                "a service that other machines can reach needs a token",
                seen=f"--host {self.host} and no token",
                do="give --token-file FILE or set NADIRFIX_TOKEN, or leave --host out",
            )

    @property
    def workers(self) -> int:
        """How many photos are located at the same time; a short queue promises answers too soon for many."""
        return self.at_once or min(cores(), max(1, self.queue // _QUEUE_PER_WORKER))

    @property
    def threads(self) -> int:
        """How many threads a network runs on, so that all workers together use every core once."""
        return max(1, cores() // self.workers)

    @property
    def read_ahead_bytes(self) -> int:
        """Memory that must be free before a batch submits a further photo: it reads the next meanwhile."""
        return self.photo_bytes + _CHUNK_BYTES

    @property
    def most_requests(self) -> int:
        """How many requests are in progress at most; a full queue leaves room for health checks."""
        return max(_LEAST_REQUESTS, 2 * self.queue) if self.requests is None else self.requests

    @property
    def most_connections(self) -> int:
        """How many clients are connected at most; some of them wait to retry."""
        return (
            max(_LEAST_CONNECTIONS, 2 * self.most_requests) if self.connections is None else self.connections
        )

    @property
    def most_client_connections(self) -> int:
        """How many connections one address has at most: more than there are requests in progress."""
        return self.client_connections or max(1, self.most_connections // 2)

    @property
    def queue_options(self) -> QueueOptions:
        """The queue's options, with Retry-After shorter than an idle connection is kept."""
        return replace(self.queueing, max_retry_s=min(self.queueing.max_retry_s, 0.8 * self.idle_s))


def is_this_machine(host: str) -> bool:
    """Whether an address or name can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_valid_token(token: str) -> bool:
    return len(token) >= SHORTEST_TOKEN and all("!" <= c <= "~" for c in token)


def _bad_token() -> ServiceError:
    return ServiceError(
        "service.token",
        "this cannot be a token",
        seen="one that is too short, or has blanks or letters beyond ASCII",
        do=f"give at least {SHORTEST_TOKEN} characters: openssl rand -hex 32",
    )
