/*
 * random.h - numbers that depend on (seed, stream, place) alone: the same on every machine, in any
 * order, without a state.
 *
 * Source   G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators,
 *          OOPSLA 2014: the finaliser of SplitMix64.
 */
#ifndef KRY_RANDOM_H
#define KRY_RANDOM_H

#include <stdint.h>

static inline uint64_t kry_random_mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static inline double kry_random_unit(uint64_t seed, uint64_t stream, uint64_t place)
{
    uint64_t key = kry_random_mix(kry_random_mix(seed) + stream);
    return (double)(kry_random_mix(key + place) >> 11) * 0x1p-53;
}

#endif
