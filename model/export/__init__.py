"""What leaves as a file: `Exported.of(checkpoint, analysis)`, `write(exported, path)`, `read(path)`."""

from model.export.exported import Exported
from model.export.files import read, write

__all__ = ["Exported", "read", "write"]
