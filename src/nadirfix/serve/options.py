"""How the service listens, and how much it bears; light enough for ``--help``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace

from nadirfix.errors import InputError, ServiceError
from nadirfix.parallel import cores

__all__ = [
    "FOREVER",
    "LONGEST_NAME",
    "LONGEST_TEXT",
    "RETRY_S",
    "RETRY_SOON_S",
    "SHORTEST_TOKEN",
    "TILE_PX",
    "FormOptions",
    "Pace",
    "ServeOptions",
    "is_this_machine",
]

#: Characters a token needs at least: 16 random ones cannot be tried out.
SHORTEST_TOKEN = 16

#: Characters a camera, an altitude or a name may have where a client writes it.
LONGEST_TEXT = 256
#: Characters that are kept of a photo's name.
LONGEST_NAME = 200
#: For what has its content in its name; whether others than the browser may keep it is said beside it.
FOREVER = "max-age=31536000, immutable"
#: When to come again, where no queue can tell it: after something short, after something long.
RETRY_SOON_S, RETRY_S = 1, 5
#: Width and height of a tile.
TILE_PX = 256

_MIB = 2**20
#: Places for each photo at work: the wait that is promised is so many times as long as a photo takes, which
#: even one that takes far longer than usual is done in.
_QUEUE_PER_WORKER = 8
#: More than a server hands over of a body at once: a piece may end one photo and begin the next.
_PIECE_BYTES = _MIB
#: However short the queue is, so many requests and connections are borne.
_LEAST_REQUESTS, _LEAST_CONNECTIONS = 128, 512


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How a queue reckons its time."""

    seat_s: float = 1.0  # a place is kept so long for a photo that is being sent
    first_guess_s: float = 0.5  # one piece of work, before there has been any
    first_spread: float = 0.5  # their deviation over their mean, likewise
    first_weight: float = 8.0  # that guess counts as much as so many pieces
    latest: float = 0.02  # how much the latest piece counts in the usual time of one
    deviations: float = 3.5  # of a wait, that must still fit into the bound; 0: count only
    longest_queues: int = 4  # nobody is told to wait longer than so many full queues
    longest_wait_s: float = 60.0  # nor longer than this


@dataclass(frozen=True, kw_only=True)
class FormOptions:
    """What a form may have besides its photos."""

    other_parts: int = 16  # fields, and photos by another name
    part_headers: int = 8
    part_header_bytes: int = 2048
    spare_bytes: int = 65_536  # around each part
    dropped_photos: float = 2.0  # of a photo too large, so many times the allowed size is let pass in a batch


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How the service listens, and how much it bears."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    allow_origins: tuple[str, ...] = ()  # pages of other origins that may ask
    queue: int = field(default_factory=lambda: max(16, _QUEUE_PER_WORKER * cores()))  # photos in the house
    at_once: int | None = None  # of them at work; None: one on each core, as far as the queue is long enough
    measure: bool = True  # at the start, which library is fastest here, where that is not known
    photos_to_come: int = 100_000  # for so many the fastest is chosen: opening it does not count then
    photo_s: float = 60.0  # from when a photo is taken until its answer
    photo_bytes: int = 64 * _MIB
    max_pixels: int = 64_000_000
    batches: int = 4  # at the same time, each with one photo in the house, and more while workers idle
    batch_photos: int = 1000
    upload_bytes: int = 256 * _MIB  # photos of all clients held in memory together
    body_grace_s: float = 10.0  # a body may keep us waiting so long, and longer by what it has brought
    body_min_bytes_s: float = 16_384.0
    rest_s: float = 10.0  # what a client still sends that was refused and hangs up then
    send_s: float = 30.0  # a client that does not take its answer
    header_s: float = 10.0  # from the first byte of a request to the last of its headers
    header_bytes: int = 16_384
    idle_s: float = 75.0  # a connection between two requests; longer than anybody is told to wait
    pace: Pace = field(default_factory=Pace)
    form: FormOptions = field(default_factory=FormOptions)
    requests: int | None = None  # at work on at the same time; None: twice the queue, or more
    connections: int | None = None  # None: twice the requests, or more
    stop_s: float = 60.0  # what was taken is finished within this
    last_s: float = 5.0  # what is still at work then, and nobody waits for, within this
    tile_quality: int = 85
    tile_cache_bytes: int = 32 * _MIB
    tile_queue: int = 64
    reference_width_px: int = 512

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise InputError(
                "options.invalid",
                "nobody would place photos",
                seen=f"at_once {self.at_once}",
                do="give at_once from 1, or leave it out",
            )
        if self.token is not None and not _good(self.token):
            raise _bad_token()
        if self.token is None and not is_this_machine(self.host):
            raise ServiceError(
                "service.token",
                "whoever listens beyond this machine needs a token",
                seen=f"--host {self.host} and no token",
                do="give --token-file FILE or set NADIRFIX_TOKEN, or leave --host out",
            )

    @property
    def workers(self) -> int:
        """How many photos are placed at once; a short queue promises an answer too soon for many."""
        return self.at_once or min(cores(), max(1, self.queue // _QUEUE_PER_WORKER))

    @property
    def threads(self) -> int:
        """How many threads a network runs on, so that all photos at work together use every core once."""
        return max(1, cores() // self.workers)

    @property
    def ahead_bytes(self) -> int:
        """What must be free before a batch hands a further photo on: it reads the next one then."""
        return self.photo_bytes + _PIECE_BYTES

    @property
    def most_requests(self) -> int:
        """How many requests are at work at once; a full queue leaves room for those who ask how it goes."""
        return max(_LEAST_REQUESTS, 2 * self.queue) if self.requests is None else self.requests

    @property
    def most_connections(self) -> int:
        """How many clients are connected at once; some of them wait to come again."""
        return (
            max(_LEAST_CONNECTIONS, 2 * self.most_requests) if self.connections is None else self.connections
        )

    @property
    def queue_pace(self) -> Pace:
        """Who is told to wait finds the connection still there: it is kept longer than that."""
        return replace(self.pace, longest_wait_s=min(self.pace.longest_wait_s, 0.8 * self.idle_s))


def is_this_machine(host: str) -> bool:
    """Whether an address or name can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _good(token: str) -> bool:
    return len(token) >= SHORTEST_TOKEN and all("!" <= c <= "~" for c in token)


def _bad_token() -> ServiceError:
    return ServiceError(
        "service.token",
        "this cannot be a token",
        seen="one that is too short, or has blanks or letters beyond ASCII",
        do=f"give at least {SHORTEST_TOKEN} characters: openssl rand -hex 32",
    )
