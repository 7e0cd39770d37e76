"""Work on many machines: the calls of a command go to the workers of a Dask cluster that the user has started.

``client`` stands where the command runs, ``worker`` in the cluster's workers, ``slot`` in processes of theirs.
"""
