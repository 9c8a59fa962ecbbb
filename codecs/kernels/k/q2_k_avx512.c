#include "../lanes_avx512.h"
#include "q2_k_lanes.h"
