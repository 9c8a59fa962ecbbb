#include "../lanes_avx2.h"
#include "iq3_lanes.h"
