// MLA_EMBED: a file of the build as bytes of the program, from symbol_begin to symbol_end, at the
// start of a page. A zero byte follows them. For one source file at namespace scope.
#pragma once

#include <cstddef>

#define MLA_EMBED(symbol, file)                                                                 \
  asm(".section .rodata\n.balign 4096\n.global " #symbol                                        \
      "_begin\n"                                                                                \
      ".hidden " #symbol "_begin\n.hidden " #symbol "_end\n" #symbol "_begin:\n.incbin \"" file \
      "\"\n.global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");                   \
  extern "C" const std::byte symbol##_begin[];                                                  \
  extern "C" const std::byte symbol##_end[];
