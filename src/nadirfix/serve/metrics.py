"""What the service has done, counted for Prometheus in a registry of its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from nadirfix.serve.queue.admission import AdmissionControl
from nadirfix.serve.queue.work_queue import WorkQueue
from nadirfix.serve.uploads.body import MemoryBudget

__all__ = ["Metrics"]

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts and times of one service."""

    def __init__(self, queue: WorkQueue, budget: MemoryBudget) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "nadirfix_requests", "Requests answered", ["method", "path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "nadirfix_request_seconds",
            "Time from the first byte to the last",
            ["path"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._photos = Counter(
            "nadirfix_photos", "Photos answered or refused", ["status"], registry=self._registry
        )
        self._gauge("nadirfix_queue_length", "Photos accepted and neither finished nor stuck").set_function(
            lambda: queue.pending
        )
        self._gauge("nadirfix_photos_stuck", "Photos that have been running for too long").set_function(
            lambda: queue.stuck
        )
        self._add_queue_gauges(queue.admission)
        self._gauge("nadirfix_upload_bytes", "Bytes of photos in memory").set_function(
            lambda: budget.held_bytes
        )
        ProcessCollector(registry=self._registry)

    def _add_queue_gauges(self, admission: AdmissionControl) -> None:
        """What the queue goes by when it accepts or refuses photos."""
        for name, text, value in (
            ("queue_places", "Photos that may be pending now", lambda: admission.limit),
            ("photo_seconds_usual", "Mean service time of one photo", lambda: admission.estimate.mean_s),
            ("photo_seconds_spread", "Its deviation over its mean", lambda: admission.estimate.variation),
            ("wait_seconds_expected", "Usual wait of a photo accepted now", lambda: admission.expected_s),
            (
                "wait_seconds_bound",
                "Wait that 99 of 100 accepted photos stay within",
                lambda: admission.bound_s,
            ),
        ):
            self._gauge(f"nadirfix_{name}", text).set_function(value)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """One request has been answered."""
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def photo(self, status: str) -> None:
        """One photo has been answered or refused."""
        self._photos.labels(status).inc()

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self._registry)
