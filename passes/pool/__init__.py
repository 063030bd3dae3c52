"""Parts of the gradients of pools."""
