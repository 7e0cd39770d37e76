"""Stage two: a deep model reads the first files of a ranking again. Knows texts and candidates, not stage one."""
