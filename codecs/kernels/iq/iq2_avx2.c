#include "../lanes_avx2.h"
#include "iq2_lanes.h"
