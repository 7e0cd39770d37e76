"""A server on the loopback interface whose answers a test chooses."""

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

NO_ANSWER = object()
"""What ``answer`` returns for a request that gets no answer while the server runs."""


class QuietServer(ThreadingHTTPServer):
    """A server that prints no traceback where it or its client cuts a connection."""

    def handle_error(self, request, client_address):
        """Print the traceback of an error, unless the connection was cut."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class StubServer:
    """A server that calls ``answer(method, path, headers, body)`` for each request.

    The request's body is parsed JSON, or None. The function returns a status, a value to send as
    JSON, and further headers. The value may also be bytes, or an iterator of bytes, which are sent
    as they are. The function may return ``NO_ANSWER``, and it may raise ConnectionError, which cuts
    the connection. Close the server after use.
    """

    def __init__(self, answer):
        stopped = Event()

        class Handler(BaseHTTPRequestHandler):
            def handle_request(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                response = answer(self.command, self.path, dict(self.headers), body)
                if response is NO_ANSWER:
                    stopped.wait()
                    raise ConnectionAbortedError
                status, value, headers = response
                self.send_response(status)
                for name, text in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, text)
                if isinstance(value, Iterator):
                    self.end_headers()  # the end of the connection is that of the body
                    for data in value:
                        self.wfile.write(data)
                    return
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = handle_request

            def log_message(self, *_):
                """Print nothing for a request."""

        self._stopped = stopped
        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        """Stop serving, cut the connections that wait for an answer, and release the port."""
        self._stopped.set()
        self.server.shutdown()
        self.server.server_close()
