"""Puts machine code into the wheel, so that nobody waits for a compiler on a first call.

The code is for the processor that builds, and for the numba that is there; elsewhere kernels are
compiled when they are needed, as they are if anything goes wrong here. THRESHER_PURE=1 leaves it
out: a wheel for all machines.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles all kernels while a wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a folder of its own, and add that to the wheel."""
        if self.target_name != "wheel" or version == "editable" or os.environ.get("THRESHER_PURE"):
            return
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "thresher.tasks.warm_up", self._folder.name]
        place = os.environ | {"PYTHONPATH": str(Path(self.root) / "src"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=place, capture_output=True, text=True)
        if done.returncode:
            self.app.display_warning(f"No machine code in this wheel: {done.stderr[-2000:]}")
            return
        build_data["force_include"][f"{self._folder.name}/thresher"] = "thresher/machine_code"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
