"""A server on the loopback interface whose answers a test chooses."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class StubServer:
    """A server that calls ``answer(method, path, headers, body)`` for each request.

    The request's body is parsed JSON, or None. The function returns a status, a value to send as
    JSON, and further headers. Close the server after use.
    """

    def __init__(self, answer):
        class Handler(BaseHTTPRequestHandler):
            def handle_request(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                status, value, headers = answer(self.command, self.path, dict(self.headers), body)
                data = json.dumps(value).encode()
                self.send_response(status)
                for name, text in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = handle_request

            def log_message(self, *_):
                """Print nothing for a request."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        """Stop serving and release the port."""
        self.server.shutdown()
        self.server.server_close()
