"""Puts machine code into the wheel, so that nobody waits for a compiler on a first call.

The code is for the processor that builds, and for the numba that is there; elsewhere kernels are
compiled when they are needed, as they are if anything goes wrong here. THRESHER_PURE=1 leaves it
out: a wheel for all machines.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles all kernels while a wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a folder of its own, and add that to the wheel."""
        if self.target_name != "wheel" or version == "editable" or os.environ.get("THRESHER_PURE"):
            return
        folder = self._folder()
        done = folder / "done"
        if not done.exists():  # pip asks twice, for the metadata and for the wheel
            path = os.pathsep.join([str(Path(self.root) / "src"), os.environ.get("PYTHONPATH", "")])
            run = subprocess.run(
                [sys.executable, "-m", "thresher.tasks.warm_up", str(folder)],
                env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
            )
            if run.returncode:
                self.app.display_warning(f"No machine code in this wheel: {run.stderr[-2000:]}")
                return
            done.touch()
        build_data["force_include"][str(folder / "thresher")] = "thresher/machine_code"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _folder(self) -> Path:
        """A folder for the sources as they are, and for this Python."""
        sources = sorted((Path(self.root) / "src").rglob("*.py"))
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
        return Path(self.root) / "build" / f"machine_code-{sys.implementation.cache_tag}-{digest}"
