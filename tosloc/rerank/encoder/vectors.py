"""Chunks of files: their tokens, and what an encoder makes of them, kept in one file so that each is made once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.errors import StoreError, ToslocError
from tosloc.records import Float16Array, Progress, silent
from tosloc.rerank.base import TextSource
from tosloc.rerank.encoder.encoders import Encoder, Piece, without_licence

# n chunks of a file, d width of the encoder

TEXT_VERSION: Final = "text2"
"""Changes when what is read of a text does, so that old vectors are not taken for new ones."""
FILES: Final = 256
"""Files encoded together; what a crash can lose."""
_BUSY_SECONDS: Final = 120.0
_TABLE: Final = """CREATE TABLE IF NOT EXISTS chunk_vectors
(maker TEXT NOT NULL, blob TEXT NOT NULL, width INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (maker, blob))"""


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The table of chunk vectors for one transaction. Raises StoreError where it cannot be read or written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection, connection:
            connection.execute(_TABLE)
            yield connection
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"{path}: the vectors of files cannot be kept there ({error}); make room, or delete the file to have them"
            " made again"
        ) from error


class ChunkReader:
    """Chunks of blobs for one encoder: at most ``most`` pieces of ``length`` tokens of each."""

    def __init__(self, encoder: Encoder, most: int, length: int, texts: TextSource) -> None:
        if length > encoder.longest:
            raise ToslocError(
                f"[stage_two] chunk_tokens: {encoder.name} reads at most {encoder.longest} tokens, not {length}"
            )
        self.encoder, self.most, self.length, self.texts = encoder, most, length, texts

    @property
    def maker(self) -> str:
        """What vectors are kept under; changes with the encoder's weights, the cut and the precision."""
        precision = "bfloat16" if self.encoder.in_bfloat16 else "float32"
        return f"{self.encoder.fingerprint} {TEXT_VERSION} {self.most}x{self.length} {precision}"

    def chunks(self, blobs: Sequence[str]) -> dict[str, list[Piece]]:
        """Blob -> its pieces; none of a blob that is blank or cannot be read."""
        read = {blob: without_licence(text or "") for blob, text in self.texts(blobs)}
        whole = [blob for blob in blobs if read[blob].strip()]
        made = self.encoder.pieces([read[blob] for blob in whole], self.length, self.most) if whole else []
        return {blob: [] for blob in blobs} | dict(zip(whole, made, strict=True))

    def vectors(self, blobs: Iterable[str], path: Path, progress: Progress = silent) -> dict[str, Float16Array]:
        """Blob -> (n, d) chunk vectors, in half precision; those that the SQLite file lacks are made now, and kept.

        Several processes may use the file at once. One that is damaged, or something else, is made again; StoreError
        where that cannot be.
        """
        wanted, found = set(blobs), dict[str, Float16Array]()
        try:
            with _opened(path):
                pass
        except StoreError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", None)
            if code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
            path.unlink()
        query = "SELECT width, data FROM chunk_vectors WHERE maker = ? AND blob = ?"
        with _opened(path) as connection:
            for blob in wanted:
                for width, data in connection.execute(query, (self.maker, blob)):
                    found[blob] = np.frombuffer(data, dtype="<f2").reshape(-1, width)
        missing = sorted(wanted - found.keys())
        progress("encoding files", 0, len(missing))
        for start in range(0, len(missing), FILES):
            chunks = self.chunks(missing[start : start + FILES])
            vectors = self.encoder.vectors([piece for pieces in chunks.values() for piece in pieces])
            ends = np.cumsum([len(pieces) for pieces in chunks.values()])
            made = dict(zip(chunks, np.split(vectors, ends[:-1]), strict=True))
            rows = [(self.maker, blob, one.shape[1], one.astype("<f2").tobytes()) for blob, one in made.items()]
            with _opened(path) as connection:
                connection.executemany("INSERT OR REPLACE INTO chunk_vectors VALUES (?, ?, ?, ?)", rows)
            found |= made
            progress("encoding files", start + len(chunks), len(missing))
        return found
