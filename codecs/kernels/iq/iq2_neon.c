#include "../lanes_neon.h"
#include "iq2_lanes.h"
