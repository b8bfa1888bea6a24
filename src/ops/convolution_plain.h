/* Convolutions in float64 by plain loops; see convolution_node.h for the passes. */
#ifndef HKI_OPS_CONVOLUTION_PLAIN_H
#define HKI_OPS_CONVOLUTION_PLAIN_H

#include "ops/convolution_node.h"

void hki_convolution_plain(const hki_convolution_pass *pass);
void hki_convolution_weights_plain(const hki_convolution_weights *pass);

#endif
