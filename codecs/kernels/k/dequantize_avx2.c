#include "../lanes_avx2.h"
#include "dequantize_lanes.h"
