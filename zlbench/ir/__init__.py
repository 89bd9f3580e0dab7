"""What the compiler made before code generation: TTGIR, its fingerprint, histogram, diff and file names."""
