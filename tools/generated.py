"""Generated parts of documents, between markers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """The content between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

    name: str

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: begin -->"

    @property
    def end(self) -> str:
        return f"<!-- {self.name}: end -->"

    def read(self, text: str) -> str:
        """Return the content. Raises ValueError if the document lacks the markers."""
        return self._split(text)[1].strip("\n")

    def write(self, text: str, content: str) -> str:
        """Return the document with new content. Raises ValueError if it lacks the markers."""
        before, _, after = self._split(text)
        return f"{before}{self.begin}\n{content}\n{self.end}{after}"

    def _split(self, text: str) -> tuple[str, str, str]:
        before, _, rest = text.partition(self.begin)
        content, found, after = rest.partition(self.end)
        if not found:
            raise ValueError(f"no {self.begin} .. {self.end}")
        return before, content, after
