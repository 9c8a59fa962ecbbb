#include "../lanes_neon.h"
#include "q6_k_lanes.h"
