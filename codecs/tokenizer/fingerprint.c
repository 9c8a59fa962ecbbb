#include "fingerprint.h"
#include "../base/buf.h"
#include "../base/cleanup.h"

#include <sha2.h>
#include <string.h>

/* Source: llama.cpp b10605, conversion/base.py, chktxt in get_vocab_base_pre. */
const char WFS_FINGERPRINT_TEXT[] =
    "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n\xf0\x9f\x9a\x80"" (normal) \xf0\x9f\x98\xb6"
    "\xe2\x80\x8d\xf0\x9f\x8c\xab\xef\xb8\x8f"" (multiple emojis concatenated) \xe2\x9c\x85"" "
    "\xf0\x9f\xa6\x99\xf0\x9f\xa6\x99"" 3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3.."
    ".3 \xe1\x9e\x80\xe1\x9e\xb6\xe1\x9e\x93\xe1\x9f\x8b\xe1\x9e\x8f\xe1\x9f\x82\xe1\x9e\x96"
    "\xe1\x9e\xb7\xe1\x9e\x9f\xe1\x9f\x81\xe1\x9e\x9f\xe1\x9e\xa2\xe1\x9e\xb6\xe1\x9e\x85"
    "\xf0\x9f\x98\x81"" ?\xe6\x88\x91\xe6\x83\xb3\xe5\x9c\xa8""apple\xe5\xb7\xa5\xe4\xbd\x9c"
    "1314151\xe5\xa4\xa9\xef\xbd\x9e"" ------======= \xd0\xbd\xd0\xb5\xd1\x89\xd0\xbe"" \xd0\xbd"
    "\xd0\xb0"" \xd0\x91\xd1\x8a\xd0\xbb\xd0\xb3\xd0\xb0\xd1\x80\xd1\x81\xd0\xba\xd0\xb8"
    " ''''''```````\"\"\"\"......!!!!!!?\?\?\?\?? I've been 'told he's there, 'RE you sure? 'M not sur"
    "e I'll make it, 'D you like some tea? We'Ve a'lL";
const size_t WFS_FINGERPRINT_TEXT_LEN = sizeof WFS_FINGERPRINT_TEXT - 1;

bool wfs_fingerprint_hash(const uint32_t *ids, size_t n, char ret[static WFS_FINGERPRINT_HASH_SIZE])
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;

    wfs_buf_str(&text, "[");
    for (size_t i = 0; i < n; i++)
        wfs_buf_printf(&text, "%s%u", i ? ", " : "", ids[i]);
    wfs_buf_str(&text, "]");
    if (text.failed)
        return false;
    return SHA256Data(text.data, text.len, ret) != NULL;
}

/* The converter compares with each in turn and keeps the last that fits: two hashes stand in its list twice. */
const char *wfs_fingerprint_name(const char *hash)
{
    for (size_t i = WFS_N_FINGERPRINTS; i > 0; i--) {
        if (strcmp(WFS_FINGERPRINTS[i - 1].hash, hash) == 0)
            return WFS_FINGERPRINTS[i - 1].name;
    }
    return NULL;
}

bool wfs_fingerprint_known(const char *name)
{
    for (size_t i = 0; i < WFS_N_FINGERPRINTS; i++) {
        if (strcmp(WFS_FINGERPRINTS[i].name, name) == 0)
            return true;
    }
    return false;
}
