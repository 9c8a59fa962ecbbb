#include "../lanes_neon.h"
#include "q4_k_lanes.h"
