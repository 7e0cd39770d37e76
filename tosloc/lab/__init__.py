"""Everything that only a researcher needs: published techniques, the paper's tables, ablations, many projects."""
