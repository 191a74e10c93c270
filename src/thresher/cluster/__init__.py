"""The verbs on Dask: collections as sources, lazy results, rounds on a cluster.

The only package that imports dask, and only once it is given something of Dask's: to ask costs
nothing.
"""

import sys
from collections.abc import Callable
from typing import Any

from thresher.cluster.errors import ClusterError
from thresher.streams import Source


def is_collection(X: Any) -> bool:
    """Whether X is an array, a data frame or a bag of Dask's."""
    if "dask" not in sys.modules or not hasattr(X, "__dask_graph__"):
        return False
    from dask.base import is_dask_collection

    return bool(is_dask_collection(X))


def collection_source(X: Any) -> Source:
    """The rows of a Dask array or data frame as a source."""
    from thresher.cluster.collections import CollectionReader

    return Source(CollectionReader(X), ahead=1)


def active_client() -> Any:
    """The `distributed.Client` of this program, if there is one and this is none of its workers."""
    if "distributed" not in sys.modules:
        return None
    from thresher.cluster.clients import default_client

    return default_client()


def cluster_for(source: Source, recipe: Callable[[], Any]) -> Any:
    """The source on the cluster of the active client; None if there is none, or it cannot go there.

    Files can, that are read from any row on; what is in this process, or has to be read from its
    start, is read here.
    """
    client, reader = active_client(), source.reader
    shared = reader.jumps and (bool(reader.paths) or hasattr(reader, "chunks"))
    if client is None or not shared:
        return None
    from thresher.cluster.source import ClusterSource

    return ClusterSource(client, source, recipe)


__all__ = [
    "ClusterError",
    "active_client",
    "cluster_for",
    "collection_source",
    "is_collection",
]
