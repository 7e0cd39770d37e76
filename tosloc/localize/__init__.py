"""The Localizer: one report's ranking over a version, cut to an answer with reasons.

It imports the packages of both stages and all below them, but not evaluate.

Modules for other packages: answer, checkpoint, localizer, model, question, session.
"""
