"""The addresses at which other machines can reach the lab, each tested by a request to itself."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from viz.state.hosts import ANYWHERE, ipv4_addresses, site_url

PATIENCE = 3.0  # s for an answer
HELP = "A phone cannot open it? See “A phone cannot open the room” in docs/lecturer.md."


def answers(url: str) -> str:
    """Returns an empty text if the lab answers at an address, else the reason."""
    request = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy would answer for other machines
    try:
        with request.open(f"{url}/healthz", timeout=PATIENCE):
            return ""
    except urllib.error.HTTPError as fault:
        return f"status {fault.code}"
    except (OSError, ValueError) as fault:
        return str(getattr(fault, "reason", fault)) or type(fault).__name__


def describe_addresses(
    host: str, port: int, shared: str | None = None, find: Callable[[], Iterable[str]] = ipv4_addresses
) -> list[str]:
    """Returns a line for each IPv4 address of a server that listens to all of them; none for another one.

    Args:
        shared: the address of the QR code, which is marked.
    """
    if host.strip("[]") not in ANYWHERE:
        return []
    urls = [site_url(address, port) for address in find()]
    if not urls:
        return []
    with ThreadPoolExecutor(len(urls)) as executor:
        faults = list(executor.map(answers, urls))
    results = [f"does not answer ({fault})" if fault else "answers" for fault in faults]
    lines = [
        f"  {url}  {result}{', in the QR code' if url == shared else ''}" for url, result in zip(urls, results, strict=True)
    ]
    return ["Addresses of this machine, each tested from this machine:", *lines, HELP]
