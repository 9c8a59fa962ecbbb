#include "../lanes_avx512.h"
#include "iq4_lanes.h"
