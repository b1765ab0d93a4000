#!/usr/bin/env bash
# Builds the fuzz targets as ClusterFuzzLite and OSS-Fuzz want them: compiler, flags and engine come
# from CXX, CXXFLAGS and LIB_FUZZING_ENGINE, and $OUT gets fuzz_<target> and its corpus. Run in the
# repository; the build itself is below $WORK.
set -euo pipefail
targets=(batch builder capture code_object line planners prefill_planner)

# Debug with no flags of its own: those of CXXFLAGS alone.
cmake -G Ninja -S . -B "$WORK/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= \
  -DMLA_DEPS="${MLA_DEPS:-fetch}" -DMLA_OPENMP=OFF -DMLA_TESTS=OFF -DHIP_BACKEND=OFF \
  -DMLA_FUZZ=ON -DMLA_FUZZ_ENGINE="$LIB_FUZZING_ENGINE"
cmake --build "$WORK/build" --target "${targets[@]/#/fuzz_}"
for target in "${targets[@]}"; do
  cp "$WORK/build/fuzz_$target" "$OUT/"
  rm -rf "$WORK/corpus"
  mkdir "$WORK/corpus"
  tar -xzf "fixtures/corpus/$target.tar.gz" -C "$WORK/corpus"
  rm -f "$OUT/fuzz_${target}_seed_corpus.zip"
  zip -jqr "$OUT/fuzz_${target}_seed_corpus.zip" "$WORK/corpus"
done
