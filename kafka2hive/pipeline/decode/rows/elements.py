"""What stands for one row each in a batch of messages."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.pipeline.decode.protocol import Reason

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Elements:
    """`texts` of all messages one after the other, message i has `counts[i]` of them; of the `refused` (reason by position)
    there are none.
    """

    texts: pa.BinaryArray
    counts: Numbers
    refused: Mapping[int, Reason]
