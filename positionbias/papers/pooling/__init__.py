"""The paper on test collections (Yilmaz, Craswell, Mitra and Campos, SIGIR 2020)."""
