#include "../lanes_avx512.h"
#include "q4_lanes.h"
