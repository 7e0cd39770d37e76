"""Find the proxy in the user's environment for requests to a web address."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address is this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "example.org")]
    [True, True, True, True, False]
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _parse_address(name)
    return address is not None and (address.is_loopback or address.is_unspecified)


def find_proxy(url: str) -> str | None:
    """Return the address of the proxy for requests to ``url``; None if they go there directly.

    It is the proxy of the environment variables (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``) or
    of the system. This machine, and hosts and networks in ``NO_PROXY``, need none.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or is_loopback(host) or proxy_bypass(host):
        return None
    if _is_in_network(host, proxies.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_in_network(host: str, networks: str) -> bool:
    """Return whether an IP address is in one of the networks of a list with commas."""
    address = _parse_address(host)
    if address is None:
        return False
    for text in networks.split(","):
        try:
            if address in ip_network(text.strip(), strict=False):
                return True
        except ValueError:  # the name of a host
            continue
    return False


def _parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that a host is written as; None if the host is a name."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
