"""The paper on test collections (Yilmaz, Craswell, Mitra and Campos, SIGIR 2020)."""

__all__: list[str] = []
