"""Operations and transforms that PyTensor lacks, or has slower."""
