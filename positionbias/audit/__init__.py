"""The audit of any model or run: is it position-biased, which way, how surely, and does it matter?"""

__all__: list[str] = []
