#include "../lanes_neon.h"
#include "iq1_lanes.h"
