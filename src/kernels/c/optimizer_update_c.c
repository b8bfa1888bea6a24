/* The optimizer family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/optimizer_update.inl"
