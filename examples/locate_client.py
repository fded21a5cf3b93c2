"""Ask a nadirfix service where photos were taken; nothing but the standard library is needed.

    python examples/locate_client.py --url http://127.0.0.1:8000 photo.jpg ...

A token is taken from NADIRFIX_TOKEN. Prints one line of JSON for each photo.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path


def locate(url: str, photo: Path, **known: str) -> dict:
    """The line of one photo; ``known`` may tell its camera and altitude. A full queue is waited for."""
    query = urllib.parse.urlencode({"name": photo.name, **known})
    headers = {"Content-Type": "application/octet-stream"}
    if token := os.environ.get("NADIRFIX_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(f"{url}/v1/locate?{query}", photo.read_bytes(), headers)
    while True:
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 429:
                return {"photo": photo.name, "status": "error", **json.load(error)}
            time.sleep(float(error.headers["Retry-After"]))


def main() -> None:
    """One line for each photo on the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("photos", nargs="+", type=Path)
    options.add_argument("--url", default="http://127.0.0.1:8000")
    given = options.parse_args()
    for photo in given.photos:
        print(json.dumps(locate(given.url, photo)), flush=True)


if __name__ == "__main__":
    main()
