"""The published techniques that TosLoc is compared with, built from their descriptions: one module each."""

from tosloc.core.errors import require

require("a published technique", "lab", "torch", "sklearn")
