"""What `alphago bench` and `python -m scripts.scale` measure."""
