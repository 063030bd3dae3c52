"""What the gradients of pools are made of."""
