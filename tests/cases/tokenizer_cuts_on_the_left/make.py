from bi_encoder import bi_encoder

bi_encoder("right", tokens=24)
bi_encoder("left", tokens=24, truncation_side="left")
