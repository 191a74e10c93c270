"""Results as tables: Parquet, Feather and CSV, written by pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.streams.pieces import joined
from thresher.streams.writing import About, Writer

_GROUP = 16 << 20  # bytes of a row group; by judgement


class TableWriter(Writer):
    """A column for each feature, rows in groups that do not depend on the batches."""

    def __init__(self, path: Path, about: About) -> None:
        super().__init__(path, about)
        self._arrow = needed("pyarrow", "files", f"Writing {path.suffix[1:]} files")
        self._held: list[Any] = []
        self._n_held = 0
        self._file: Any = None

    def add(self, rows: Any) -> None:
        """Hold rows until they make a group."""
        self._held.append(rows)
        self._n_held += rows.nbytes
        if self._n_held >= _GROUP:
            self._write()

    def close(self) -> None:
        """Write the last group."""
        self._write()
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        if not self._held:
            return
        X = joined(self._held)
        self._held, self._n_held = [], 0
        X = np.asfortranarray(X.reshape(len(X), -1))
        columns = [self._arrow.array(X[:, j]) for j in range(X.shape[1])]
        table = self._arrow.table(columns, names=list(self.about.columns))
        if self._file is None:
            self._file = self._opened(table.schema)
        self._file.write_table(table)

    def _opened(self, schema: Any) -> Any:
        kind = self.path.suffix.lower()
        if kind == ".parquet":
            parquet = needed("pyarrow.parquet", "files", "Writing parquet files")
            # Results hardly repeat: dictionaries of them take longer to make, and are larger.
            return parquet.ParquetWriter(self.part, schema, use_dictionary=False)
        if kind == ".csv":
            return needed("pyarrow.csv", "files", "Writing csv files").CSVWriter(self.part, schema)
        return self._arrow.ipc.new_file(str(self.part), schema)
