#include "../lanes_avx512.h"
#include "iq1_lanes.h"
