"""Compression of sensor tables and streams within an error bound."""

from thresher.tasks.compression.codec import SensorCodec
from thresher.tasks.compression.decoder import Decoded, Decoder
from thresher.tasks.compression.encoder import Encoder
from thresher.tasks.compression.wire import PacketError

__all__ = ["Decoded", "Decoder", "Encoder", "PacketError", "SensorCodec"]
