/* The pool family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/pool.inl"
