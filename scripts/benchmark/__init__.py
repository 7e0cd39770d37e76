"""What ``bench.py`` measures: a module for each kind of part; a part is a function that returns rows."""
