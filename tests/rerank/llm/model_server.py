"""A local server that speaks the protocol of language models, as a test says."""

from tests.stubs import StubServer


def completion(text):
    """Return what a server answers: status, value and headers."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    value = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return 200, value | {"choices": [choice], "usage": usage}, {}


class Server:
    """A local server whose model answers as a test says."""

    def __init__(self):
        self.requests = []
        self.answer = lambda body: completion('{"order": [3, 1]}')
        self.stub = StubServer(self._answer)

    def _answer(self, method, path, headers, body):
        self.requests.append((path, headers, body))
        return self.answer(body)
