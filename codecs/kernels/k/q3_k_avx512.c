#include "../lanes_avx512.h"
#include "q3_k_lanes.h"
