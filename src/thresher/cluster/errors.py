"""What goes wrong with a cluster, and not with the data."""


class ClusterError(RuntimeError):
    """Workers are lost, or are not fit for the work; what was learned until then is kept."""
