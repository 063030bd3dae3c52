"""What several passes need; nothing here is a pass."""
