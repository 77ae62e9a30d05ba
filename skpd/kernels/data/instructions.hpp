// How functions of loops over vectors are compiled: SKPD_CLONES for several sets of instructions, SKPD_INLINE into the
// loops that call them, and SKPD_HAS_FMA where the product and sum of three numbers is one instruction.
#pragma once

// The compiler clones a function for each set of instructions. "arch=haswell" would exclude all processors that are not
// Intel's.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#if __GNUC__ >= 12
#define SKPD_CLONES __attribute__((target_clones("avx512f", "arch=x86-64-v3", "default")))
#define SKPD_HAS_FMA  // clones have the instruction; elsewhere std::fma is a call
#else
#define SKPD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define SKPD_CLONES
#if defined(__FMA__) || defined(__aarch64__)
#define SKPD_HAS_FMA
#endif
#endif

// SKPD_INLINE is for functions that loops over vectors call: GCC inlines less in a small file than in a large one, and
// it vectorises no loop with a call.
#if defined(__GNUC__)
#define SKPD_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define SKPD_INLINE __forceinline
#else
#define SKPD_INLINE inline
#endif
