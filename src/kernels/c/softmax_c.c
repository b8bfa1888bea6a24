/* The softmax family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/softmax.inl"
