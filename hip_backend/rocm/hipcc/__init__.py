"""The compiler's front door of the stand-in for ROCm: hipcc with clang, and nothing of ROCm."""
