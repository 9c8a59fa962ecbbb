#include "../lanes_neon.h"
#include "dequantize_lanes.h"
