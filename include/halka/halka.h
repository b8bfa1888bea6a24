/* All of halka's public headers. A program includes this one; each of the others also stands alone. */
#ifndef HALKA_HALKA_H
#define HALKA_HALKA_H

#include "halka/architecture.h"
#include "halka/digest.h"
#include "halka/file.h"
#include "halka/graph.h"
#include "halka/info.h"
#include "halka/model.h"
#include "halka/op.h"
#include "halka/session.h"
#include "halka/status.h"
#include "halka/tensor.h"
#include "halka/train.h"

#endif
