#include "../lanes_neon.h"
#include "q5_lanes.h"
