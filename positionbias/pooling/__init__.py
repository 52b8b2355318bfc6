"""Pool bias: can a test collection judge systems of a kind that did not help to make it?"""

__all__: list[str] = []
