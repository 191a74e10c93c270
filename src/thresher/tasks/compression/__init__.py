"""Compression of sensor streams: an edge and a cloud that talk through bytes."""

from thresher.tasks.compression.cloud import Cloud, Received
from thresher.tasks.compression.codec import SensorCodec
from thresher.tasks.compression.edge import Edge
from thresher.tasks.compression.packet import PacketError, VersionError
from thresher.tasks.compression.paper_edge import PaperEdge

__all__ = ["Cloud", "Edge", "PacketError", "PaperEdge", "Received", "SensorCodec", "VersionError"]
