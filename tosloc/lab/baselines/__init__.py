"""The published techniques that TosLoc is compared with, built from their descriptions: one module each."""
