"""Photographs of one kind, without what does not belong to them."""

from thresher.tasks.images.denoiser import Denoised, ImageDenoiser

__all__ = ["Denoised", "ImageDenoiser"]
