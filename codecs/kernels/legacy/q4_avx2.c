#include "../lanes_avx2.h"
#include "q4_lanes.h"
