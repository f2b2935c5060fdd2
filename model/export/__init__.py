"""Export of an analysis to a file: `Exported.of(checkpoint, analysis)`, `write(exported, path)`, `read(path)`."""

from .analysis_files import read, write
from .schema import Exported

__all__ = ["Exported", "read", "write"]
