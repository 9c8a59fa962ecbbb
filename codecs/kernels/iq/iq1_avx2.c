#include "../lanes_avx2.h"
#include "iq1_lanes.h"
