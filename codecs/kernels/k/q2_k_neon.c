#include "../lanes_neon.h"
#include "q2_k_lanes.h"
