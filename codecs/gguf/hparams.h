/*
 * A model's hyperparameters as the converter sees them. That is not config.json: the converter asks transformers'
 * AutoConfig, which injects the defaults of a configuration class, and falls back to the bare file when AutoConfig
 * raises. Source: transformers 4.57.6 (configuration_utils.py, configuration_{llama,mistral,qwen2,qwen3}.py) and the
 * pinned llama.cpp's conversion/base.py (load_hparams, TextModel.__init__).
 */
#ifndef WFS_GGUF_HPARAMS_H
#define WFS_GGUF_HPARAMS_H

#include "../folder.h"
#include "../json.h"

#include <stdbool.h>
#include <stdint.h>

enum wfs_hkind {
    WFS_H_ABSENT, WFS_H_NULL, WFS_H_BOOL, WFS_H_INT,
    WFS_H_BIG, /* an integer that does not fit 64 bits */
    WFS_H_FLOAT, WFS_H_STRING, WFS_H_LIST, WFS_H_DICT
};

/* A value as Python would hold it: writers care whether a number is an int, a float or a bool. */
struct wfs_hvalue {
    enum wfs_hkind kind;
    int64_t i;         /* of BOOL (0 or 1) and INT */
    double f;          /* of BOOL, INT, BIG and FLOAT */
    const cJSON *node; /* of STRING, LIST and DICT; else NULL */
};

struct wfs_config_class; /* a configuration class of transformers and its defaults; see autoconfig.c */

struct wfs_hparams {
    struct wfs_json *json;                /* config.json */
    const cJSON *root;                    /* its object */
    const struct wfs_config_class *class; /* NULL: AutoConfig raises, so the file counts as it stands */
    const cJSON *rope;                    /* the rope settings in force: rope_parameters or rope_scaling; NULL = {} */
};

/*
 * Reads config.json of a folder. 0, or a negative errno with a message when it is missing, not JSON, or asks for
 * something whose values are not known here.
 */
int wfs_hparams_open(const struct wfs_folder *folder, struct wfs_hparams *ret, struct wfs_error *err);
void wfs_hparams_done(struct wfs_hparams *h);

/* hparams.get(key): absent, or the value (which may be null). */
struct wfs_hvalue wfs_hparams_get(const struct wfs_hparams *h, const char *key);

/* find_hparam: the value of the first key that is present, even if it is null. keys ends with NULL. */
struct wfs_hvalue wfs_hparams_find(const struct wfs_hparams *h, const char *const *keys);

/* A key of the rope settings, with what TextModel.__init__ mirrors into them (rope_theta, rope_type …). */
struct wfs_hvalue wfs_hparams_rope(const struct wfs_hparams *h, const char *key);

/* A JSON node as a Python value; NULL is ABSENT. */
struct wfs_hvalue wfs_hvalue_from(const cJSON *node);

/* True for what Python counts as a number (int, float, bool). */
bool wfs_hvalue_is_number(struct wfs_hvalue v);

/* Python's bool(value); absent counts as None. */
bool wfs_hvalue_is_true(struct wfs_hvalue v);

/* "null", "a string", "an integer" … for messages. */
const char *wfs_hvalue_kind_name(struct wfs_hvalue v);

/* The value as a non-negative C integer (int or bool), or an error that names the key. */
int wfs_hvalue_u32(struct wfs_hvalue v, const char *key, uint32_t *ret, struct wfs_error *err);

/* The value as struct.pack("f") takes it, or an error that names the key. */
int wfs_hvalue_f32(struct wfs_hvalue v, const char *key, float *ret, struct wfs_error *err);

/*
 * autoconfig.c. Finds the configuration class that AutoConfig would use for config.json's object and the folder's path.
 * Sets *ret to NULL when AutoConfig raises (the converter then takes config.json as it stands). A negative errno with a
 * message for a class that is not known here.
 */
int wfs_autoconfig_class(const cJSON *root, const char *path, const struct wfs_config_class **ret,
                         struct wfs_error *err);

/* The class's idea of a key: a computed attribute, else the file's value, else the class's default. */
struct wfs_hvalue wfs_autoconfig_get(const struct wfs_config_class *class, const cJSON *root, const char *key);

/* True when the class copies rope_scaling's "type" over "rope_type" (Mistral's does not look at rope_scaling). */
bool wfs_autoconfig_renames_type(const struct wfs_config_class *class);

#endif
