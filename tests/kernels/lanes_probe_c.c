/* The probe in plain C. */
#include "kernels/lanes_c.h"
#include "lanes_probe.inl"
