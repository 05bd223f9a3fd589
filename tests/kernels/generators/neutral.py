"""PTX without a trace of the folder in which it was made."""

import re
from pathlib import Path

OUTPUT = Path(__file__).resolve().parent.parent / "ptx"


def write(name: str, ptx: str, source: str) -> None:
    """Writes a module beside the others; debug sections keep their lengths."""
    folder = str(Path(source).resolve().parent)
    ptx = re.sub(r'(\.file\s+\d+ )"[^"]*/', r'\1"', ptx).replace("\0", "")
    bytes_of_folder = r"\n".join(rf"\s*\.b8 {byte}\b([^\n]*)" for byte in folder.encode())
    ptx = re.sub(bytes_of_folder, lambda found: re.sub(r"\.b8 \d+", ".b8 46", found[0]), ptx)
    text = "\n".join(line.rstrip() for line in ptx.splitlines()) + "\n"
    (OUTPUT / f"{name}.ptx").write_text(text)
