#include "../lanes_avx512.h"
#include "iq2_lanes.h"
