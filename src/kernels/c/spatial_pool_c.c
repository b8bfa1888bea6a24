/* The spatial_pool family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/spatial_pool.inl"
