#include "dtype.h"

#include <string.h>

const struct wfs_dtype_info wfs_dtypes[WFS_DTYPE_COUNT] = {
    [WFS_BOOL] = { "BOOL", 8, "|b1" },
    [WFS_F4] = { "F4", 4, NULL },
    [WFS_F6_E2M3] = { "F6_E2M3", 6, NULL },
    [WFS_F6_E3M2] = { "F6_E3M2", 6, NULL },
    [WFS_U8] = { "U8", 8, "|u1" },
    [WFS_I8] = { "I8", 8, "|i1" },
    [WFS_F8_E5M2] = { "F8_E5M2", 8, NULL },
    [WFS_F8_E4M3] = { "F8_E4M3", 8, NULL },
    [WFS_F8_E8M0] = { "F8_E8M0", 8, NULL },
    [WFS_F8_E4M3FNUZ] = { "F8_E4M3FNUZ", 8, NULL },
    [WFS_F8_E5M2FNUZ] = { "F8_E5M2FNUZ", 8, NULL },
    [WFS_I16] = { "I16", 16, "<i2" },
    [WFS_U16] = { "U16", 16, "<u2" },
    [WFS_F16] = { "F16", 16, "<f2" },
    [WFS_BF16] = { "BF16", 16, NULL },
    [WFS_I32] = { "I32", 32, "<i4" },
    [WFS_U32] = { "U32", 32, "<u4" },
    [WFS_F32] = { "F32", 32, "<f4" },
    [WFS_C64] = { "C64", 64, "<c8" },
    [WFS_F64] = { "F64", 64, "<f8" },
    [WFS_I64] = { "I64", 64, "<i8" },
    [WFS_U64] = { "U64", 64, "<u8" },
};

int wfs_dtype_find(const char *name, uint64_t len)
{
    for (int i = 0; i < WFS_DTYPE_COUNT; i++) {
        if (strlen(wfs_dtypes[i].name) == len && memcmp(wfs_dtypes[i].name, name, len) == 0)
            return i;
    }
    return -1;
}
