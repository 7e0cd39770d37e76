"""Source text to facts: languages, parsing, functions, terms and complexity.

It imports core.

Modules for other packages: complexity, facts, functions, languages, literals, names, parse, text,
trees.
"""
