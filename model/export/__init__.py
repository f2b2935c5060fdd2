"""Export of an analysis to a file: `Exported.of(checkpoint, analysis)`, `write(exported, path)`, `read(path)`."""

from model.export.analysis_files import read, write
from model.export.exported import Exported

__all__ = ["Exported", "read", "write"]
