"""Source text to facts: languages, parsing, functions, terms and complexity.

It imports core.

Modules for other packages: facts, functions, languages, literals, notebooks, text.
"""
