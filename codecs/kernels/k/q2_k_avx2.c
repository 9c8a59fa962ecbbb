#include "../lanes_avx2.h"
#include "q2_k_lanes.h"
