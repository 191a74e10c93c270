"""Names of faces, from what they have in common with faces of known names."""

from thresher.tasks.recognition.recognizer import FaceRecognizer

__all__ = ["FaceRecognizer"]
