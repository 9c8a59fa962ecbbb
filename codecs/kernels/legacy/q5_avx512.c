#include "../lanes_avx512.h"
#include "q5_lanes.h"
