#include "../lanes_neon.h"
#include "iq3_lanes.h"
