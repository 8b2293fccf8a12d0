import json

import numpy as np

from selfplay.random_state import rng_from_state, rng_state


def test_a_random_stream_goes_on_where_it_was() -> None:
    rng = np.random.default_rng(12)
    rng.integers(10, size=3)
    rng.random(5, dtype=np.float32)  # leaves half of a 64-bit number for later
    other = rng_from_state(json.loads(json.dumps(rng_state(rng))))
    np.testing.assert_array_equal(
        rng.random(7, dtype=np.float32), other.random(7, dtype=np.float32)
    )
    np.testing.assert_array_equal(rng.normal(size=9), other.normal(size=9))
