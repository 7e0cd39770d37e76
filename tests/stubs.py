"""A server on loopback that answers as a test says."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class StubServer:
    """Asks ``answer(method, path, headers, body)`` for each request what to say, in JSON: status, value, headers."""

    def __init__(self, answer):
        class Handler(BaseHTTPRequestHandler):
            def say(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                code, value, headers = answer(self.command, self.path, dict(self.headers), body)
                data = json.dumps(value).encode()
                self.send_response(code)
                for name, text in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = say

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
