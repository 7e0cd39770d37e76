"""A process that a cluster's worker keeps for calls, one at a time: what it does cannot harm the worker.

It reads frames (eight bytes of length, then so many) from standard input and answers each with one on standard output:
a pickled pair of "value" and what the call gave, or "error" and what it raised. Empty frames say that the worker still
waits: a process that does not hear so, because the worker is stopped or gone, gives its call up, since another worker
may have it by then.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import sys
import threading
import traceback
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, Final

from tosloc.errors import ToslocError

SILENT_SECONDS: Final = 60.0
"""After which it ends by itself: with exit code 0 if it had nothing to do. Dask takes a worker for dead after 300."""
_LENGTH: Final = struct.Struct("!Q")
_PIECE: Final = 1 << 20


def write_frame(file: IO[bytes], data: bytes) -> None:
    """Write one frame. Raises OSError when nobody reads."""
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def read_frame(file: IO[bytes]) -> bytes | None:
    """The next frame; None at the end, also one that comes within a frame."""
    head = _read(file, _LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = _read(file, length)
    return data if len(data) == length else None


def _read(file: IO[bytes], size: int) -> bytes:
    """So many bytes, fewer only at the end; of a file without a buffer, too."""
    data = bytearray()
    while len(data) < size and (part := file.read(min(size - len(data), _PIECE))):
        data += part
    return bytes(data)


def main() -> None:
    """Answer calls until the input ends."""
    source, target = _own_streams()
    calls: SimpleQueue[bytes] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(source, calls, busy), daemon=True).start()
    while True:
        data = calls.get()
        answer = _answer(data)
        busy.clear()
        write_frame(target, answer)


def _listen(source: Any, calls: SimpleQueue[bytes], busy: threading.Event) -> None:
    """Hand calls to the main thread; end the process when there will be no more."""
    while sys.platform == "win32" or select.select([source], [], [], SILENT_SECONDS)[0]:
        data = read_frame(source)
        if data is None:
            break
        if data:
            busy.set()
            calls.put(data)
    os._exit(int(busy.is_set()))


def _own_streams() -> tuple[Any, IO[bytes]]:
    """The two streams of frames; whatever a call prints goes nowhere."""
    source, target = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")  # no buffer: it is waited for
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return source, target


def _answer(data: bytes) -> bytes:
    try:
        folder, call = pickle.loads(data)
        with suppress(OSError):  # relative paths mean what they mean to the command, where its folder is here too
            os.chdir(folder)
        function, arguments, named = pickle.loads(call)
        return pickle.dumps(("value", function(*arguments, **named)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _packed(error)


def _packed(error: Exception) -> bytes:
    """An error that can be raised elsewhere: itself, or what it says where it does not travel."""
    with suppress(Exception):
        data = pickle.dumps(("error", error))
        pickle.loads(data)
        if isinstance(error, ToslocError | OSError | MemoryError):
            return data
    if isinstance(error, ToslocError):
        return pickle.dumps(("error", ToslocError(str(error))))
    return pickle.dumps(("error", RuntimeError("".join(traceback.format_exception(error)))))


if __name__ == "__main__":
    main()
