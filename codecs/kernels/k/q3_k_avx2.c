#include "../lanes_avx2.h"
#include "q3_k_lanes.h"
