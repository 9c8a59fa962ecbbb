#include "../lanes_neon.h"
#include "q3_k_lanes.h"
