/* What Python makes of JSON values, as far as the converter's code asks. An absent member is None, as with dict.get. */
#ifndef WFS_TOKENIZER_PYJSON_H
#define WFS_TOKENIZER_PYJSON_H

#include "../json.h"

#include <string.h>

static inline bool wfs_py_is_none(const cJSON *v)
{
    return !v || cJSON_IsNull(v);
}

/* bool(v) */
static inline bool wfs_py_truthy(const cJSON *v)
{
    double number;

    if (wfs_py_is_none(v) || cJSON_IsFalse(v))
        return false;
    if (cJSON_IsString(v))
        return *v->valuestring != 0;
    if (cJSON_IsArray(v) || cJSON_IsObject(v))
        return v->child != NULL;
    return !wfs_json_double(v, &number) || number != 0;
}

/* a == b for what occurs: None, strings, and other values by content. */
static inline bool wfs_py_equal(const cJSON *a, const cJSON *b)
{
    if (wfs_py_is_none(a) || wfs_py_is_none(b))
        return wfs_py_is_none(a) && wfs_py_is_none(b);
    if (cJSON_IsString(a) && cJSON_IsString(b))
        return strcmp(a->valuestring, b->valuestring) == 0;
    return a == b || cJSON_Compare(a, b, true);
}

/* int(text) for decimal digits with a sign, underscores between digits and white space around. */
bool wfs_py_int(const char *text, int64_t *ret);

#endif
