/* random.c - random numbers without a state: the finaliser of SplitMix64, three times. */
#include <kry/io.h>

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double kry_random_unit(uint64_t seed, uint64_t stream, uint64_t place)
{
    uint64_t key = mix(mix(seed) + stream);
    return (double)(mix(key + place) >> 11) * 0x1p-53;
}
