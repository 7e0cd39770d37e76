"""Everything that only a researcher needs: published techniques, the paper's tables, ablations, agreement of runs."""

from tosloc.errors import require

require("the laboratory", "lab", "torch", "matplotlib", "sklearn")
