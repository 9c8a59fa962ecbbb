#include "../lanes_avx2.h"
#include "iq4_lanes.h"
