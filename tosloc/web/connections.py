"""Limit the connections of browsers to the server of the page, in number and in idle time."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS: Final = 100
"""Largest number of open connections. A browser opens six to one host."""
REQUEST_SECONDS: Final = 20.0
"""Seconds from the opening of a connection in which a whole request has to arrive."""


class LimitedConnection(H11Protocol):
    """A connection that is closed if its next request does not arrive in time.

    If there are too many connections, the connection that has waited longest for its request is
    closed. A program that only opens connections therefore cannot keep others out.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > MAX_CONNECTIONS:
            waiting = []
            for connection in self.connections:
                if isinstance(connection, LimitedConnection) and connection.is_waiting:
                    waiting.append(connection)
            min(waiting, key=lambda connection: connection.waits_since).cut()

    def on_response_complete(self) -> None:
        """Start to wait for another request."""
        super().on_response_complete()
        self._deadline.cancel()
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._deadline.cancel()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether the client has not yet sent a whole request."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def cut(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)
        self.transport.abort()

    def _wait_for_request(self) -> None:
        self.waits_since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._cut_if_waiting)

    def _cut_if_waiting(self) -> None:
        if self.is_waiting:
            self.cut()
