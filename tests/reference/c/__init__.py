"""Paper C: "MahNMF: Manhattan Non-negative Matrix Factorization" (Guan, Tao, Luo, Shawe-Taylor,
2012), one file per algorithm."""
