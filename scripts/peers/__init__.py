"""Other self-play frameworks measured beside ours: `python -m scripts.peers`."""
