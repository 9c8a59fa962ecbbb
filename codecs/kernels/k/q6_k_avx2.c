#include "../lanes_avx2.h"
#include "q6_k_lanes.h"
