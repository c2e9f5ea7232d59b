"""The base class of models, and the code that sums out latents and recovers them."""
