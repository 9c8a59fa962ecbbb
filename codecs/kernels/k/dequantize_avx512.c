#include "../lanes_avx512.h"
#include "dequantize_lanes.h"
