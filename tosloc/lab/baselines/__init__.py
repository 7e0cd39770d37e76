"""Published techniques that TosLoc is compared with, one module each.

Each technique is built from its paper and, where there is one, its public code (docs/method.md,
part B).
"""

from tosloc.core.errors import require

require("a published technique", "lab", "torch", "sklearn")
