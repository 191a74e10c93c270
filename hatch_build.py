"""Puts machine code into the wheel, so that nobody waits for a compiler on a first call.

The code is for the processor that builds, and for the numba that is there; elsewhere kernels are
compiled when they are needed, as they are if anything goes wrong here. THRESHER_PURE=1 leaves it
out: a wheel for all machines.

An editable install does not wait for a compiler. It takes what a wheel of the same sources has
left in ``build``, if there is any.
"""

import hashlib
import os
import shutil
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
        if self.target_name != "wheel" or os.environ.get("THRESHER_PURE"):
            return
        folder = self._folder()
        done = folder / "done"
        if version == "editable":
            if done.exists():
                target = Path(self.root) / "src" / "thresher" / "machine_code"
                shutil.copytree(folder / "thresher", target, dirs_exist_ok=True)
            return
        if not done.exists():  # pip asks twice, for the metadata and for the wheel
            failure = self._compile(folder)
            if failure:
                self.app.display_warning(f"No machine code in this wheel: {failure[-2000:]}")
                return
            done.touch()
        build_data["force_include"][str(folder / "thresher")] = "thresher/machine_code"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _compile(self, folder: Path) -> str:
        """All kernels, into a folder; what went wrong, if anything did."""
        with tempfile.TemporaryDirectory() as bare:
            # Kernels that a checkout has kept would be found beside its sources, not compiled here.
            kept = shutil.ignore_patterns("machine_code", "__pycache__")
            shutil.copytree(Path(self.root) / "src", bare, ignore=kept, dirs_exist_ok=True)
            path = os.pathsep.join([bare, os.environ.get("PYTHONPATH", "")])
            run = subprocess.run(
                [sys.executable, "-m", "thresher.tasks.warm_up", str(folder)],
                env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
            )
        return run.stderr if run.returncode else ""

    def _folder(self) -> Path:
        """A folder for the sources as they are, and for this Python."""
        sources = sorted((Path(self.root) / "src").rglob("*.py"))
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
        return Path(self.root) / "build" / f"machine_code-{sys.implementation.cache_tag}-{digest}"
