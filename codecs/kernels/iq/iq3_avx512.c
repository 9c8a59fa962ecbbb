#include "../lanes_avx512.h"
#include "iq3_lanes.h"
