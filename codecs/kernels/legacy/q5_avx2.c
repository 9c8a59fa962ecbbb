#include "../lanes_avx2.h"
#include "q5_lanes.h"
