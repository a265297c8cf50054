"""The scrubber's library in real processes: loading, threads, forks, signals, long texts."""

import random
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.adapters import scrubbing
from tasks.adapters.scrubbing import BetterleaksScrubber, ScrubberUnusable
from tests.support.planted_secrets import take, token

ROOT = Path(__file__).parents[2]
SCRUBBER = BetterleaksScrubber()


def slack(rng: random.Random) -> str:
    """A token that only the library knows."""
    return "xo" + f"xb-{take(rng, 12, '0123456789')}-{take(rng, 13, '0123456789')}-{token(rng, 24)}"


@pytest.fixture
def rng() -> random.Random:
    return random.Random(17)  # noqa: S311  # the same secrets in every run


def program(source: str) -> subprocess.Popen[str]:
    """A process of its own with SIGINT as a terminal's program has it."""
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.Popen(
        [sys.executable, "-c", start + textwrap.dedent(source)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_the_library_is_loaded_at_the_first_text_only() -> None:
    process = program(
        """
        import sys
        from tasks.adapters.scrubbing import BetterleaksScrubber
        scrubber = BetterleaksScrubber()
        print("betterleaks" in sys.modules)
        scrubber.scrub(["x"])
        print("betterleaks" in sys.modules)
        """
    )
    out, errors = process.communicate(timeout=240)
    assert (out.split(), errors) == (["False", "True"], "")


@pytest.mark.parametrize(
    "work", ["time.sleep(60)", "while True: scrubber.scrub(['key ' * 100_000])"]
)
def test_ctrl_c_ends_a_process_that_has_loaded_the_library(work: str) -> None:
    process = program(
        f"""
        import sys, time
        from tasks.adapters.scrubbing import BetterleaksScrubber
        scrubber = BetterleaksScrubber()
        scrubber.scrub(["x"])
        try:
            print("ready", flush=True)
            {work}
        except KeyboardInterrupt:
            sys.exit(3)
        """
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 3


def test_a_forked_child_is_refused_and_a_subprocess_is_not() -> None:
    process = program(
        """
        import os, subprocess, sys
        from tasks.adapters.scrubbing import BetterleaksScrubber, ScrubberUnusable
        scrubber = BetterleaksScrubber()
        scrubber.scrub(["x"])
        print(subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout)
        child = os.fork()
        if child == 0:
            try:
                scrubber.scrub(["x"])
            except ScrubberUnusable as error:
                os._exit(7 if "spawn" in str(error) else 1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    out, _ = process.communicate(timeout=240)
    assert out.splitlines() == [str(b"1\n"), "7"]


def test_threads_do_not_see_each_others_texts(rng: random.Random) -> None:
    texts = [f"message {index} has {slack(rng)} in it" for index in range(400)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda text: SCRUBBER.scrub([text])[0].text, texts))
    assert results == [
        f"message {index} has [scrubbed:slack-bot-token] in it" for index in range(400)
    ]


def test_a_secret_behind_a_nul_or_half_a_character_is_found(rng: random.Random) -> None:
    [result] = SCRUBBER.scrub([f"a\0b \ud800 {slack(rng)} c"])
    assert result.text == "a\0b \ud800 [scrubbed:slack-bot-token] c"


@pytest.mark.parametrize("behind", [",", ".", ")", "</p>", "*", "\n"])
def test_a_token_is_found_whatever_stands_behind_it(rng: random.Random, behind: str) -> None:
    [result] = SCRUBBER.scrub([f"use np{'m_'}{token(rng, 36)}{behind} then"])
    assert result.text == f"use [scrubbed:npm-access-token]{behind} then"


@pytest.mark.parametrize("line_break", ["\n", " "])
def test_a_secret_is_found_wherever_a_long_text_is_cut(
    rng: random.Random, line_break: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrubbing, "_PIECE", 1_000)
    monkeypatch.setattr(scrubbing, "_OVERLAP", 200)
    secret = slack(rng)
    for before in range(700, 1_100, 7):
        words = f"{'é' * before}{line_break}"
        [result] = SCRUBBER.scrub([f"{words}{secret}{line_break}{'word ' * 300}"])
        assert result.text.startswith(f"{words}[scrubbed:slack-bot-token]{line_break}word ")


def test_a_long_text_is_not_cut_inside_a_digest(
    rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrubbing, "_PIECE", 1_000)
    monkeypatch.setattr(scrubbing, "_OVERLAP", 200)
    text = "".join(f"key: {take(rng, 40, '0123456789abcdef')}\n" for _ in range(500))
    assert SCRUBBER.scrub([text])[0].text == text


def test_the_other_half_of_a_pair_is_taken_out(rng: random.Random) -> None:
    identifier, other = "EX" + f"O{token(rng, 26)}", token(rng, 45)
    [result] = SCRUBBER.scrub([f"exoscale user: {identifier}\nexoscale for it: {other}\n"])
    assert result.text == (
        "exoscale user: [scrubbed:exoscale-api-key]\n"
        "exoscale for it: [scrubbed:exoscale-api-secret]\n"
    )


def test_the_host_that_belongs_to_a_key_stays(rng: random.Random) -> None:
    host = "https://abcdefghijklmnopqrst.supabase.co"
    key = "sb_" + f"secret_{take(rng, 22)}_{take(rng, 8)}"
    [result] = SCRUBBER.scrub([f"url = {host}\nkey = {key}\n"])
    assert host in result.text
    assert key not in result.text


def test_a_failing_library_stops_the_run_without_naming_the_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("this is no configuration")
    monkeypatch.setattr(scrubbing, "_CONFIG", broken)
    with pytest.raises(ScrubberUnusable) as caught:
        SCRUBBER.scrub(["a private message"])
    assert "private message" not in f"{caught.value} {caught.value.__cause__}"
