#include "../lanes_avx512.h"
#include "tq_lanes.h"
