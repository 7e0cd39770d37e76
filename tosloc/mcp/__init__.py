"""What coding agents ask: ``tosloc mcp``, a server of the Model Context Protocol; see ``docs/guide.md``."""
