#include "../lanes_avx2.h"
#include "tq_lanes.h"
