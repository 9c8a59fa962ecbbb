#include "../lanes_neon.h"
#include "q4_lanes.h"
