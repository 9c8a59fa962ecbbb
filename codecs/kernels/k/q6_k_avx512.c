#include "../lanes_avx512.h"
#include "q6_k_lanes.h"
