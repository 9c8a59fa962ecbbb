#include "yaml.h"
#include "../base/buf.h"
#include "yaml_scalar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct node {
    struct wfs_yaml_node public; /* first: a node is its public part */
    struct node *next;           /* all nodes of the document, for freeing */
    char *text;                  /* owned */
    bool merge, value;           /* a plain "<<" or "=" */
    bool open;                   /* a mapping that is still being read: an alias inside it may name it */
};

struct anchor {
    char *name;
    const struct node *node;
};

struct wfs_yaml {
    struct node *nodes;
    const struct node *root;
    struct anchor *anchors;
    size_t n_anchors;
};

struct parser {
    yaml_parser_t yaml;
    struct wfs_yaml *doc;
    struct wfs_yaml_resolver *resolver;
    const char *name;
    struct wfs_error *err;
    size_t n_merged; /* pairs copied for "<<", which could otherwise grow without bound */
};

enum { MAX_MERGED = 100000 };

static int fail(struct parser *p, int code, const yaml_mark_t *mark, const char *reason)
{
    return wfs_error_set(p->err, code, "%s: line %zu column %zu: %s", p->name, mark->line + 1, mark->column + 1,
                         reason);
}

static int next_event(struct parser *p, yaml_event_t *event)
{
    if (yaml_parser_parse(&p->yaml, event))
        return 0;
    if (p->yaml.error == YAML_MEMORY_ERROR)
        return wfs_error_nomem(p->err);
    return fail(p, EINVAL, &p->yaml.problem_mark, p->yaml.problem ? p->yaml.problem : "not YAML");
}

static struct node *add_node(struct parser *p)
{
    struct node *n = calloc(1, sizeof *n);

    if (n) {
        n->next = p->doc->nodes;
        p->doc->nodes = n;
    }
    return n;
}

/* Remembers a node under its anchor, if it has one. */
static int add_anchor(struct parser *p, const yaml_char_t *name, const struct node *node, const yaml_mark_t *mark)
{
    struct anchor *grown;

    if (!name)
        return 0;
    for (size_t i = 0; i < p->doc->n_anchors; i++) {
        if (strcmp(p->doc->anchors[i].name, (const char *)name) == 0)
            return fail(p, EINVAL, mark, "an anchor of this name is there already");
    }
    grown = reallocarray(p->doc->anchors, p->doc->n_anchors + 1, sizeof *grown);
    if (!grown)
        return wfs_error_nomem(p->err);
    p->doc->anchors = grown;
    grown[p->doc->n_anchors].name = strdup((const char *)name);
    if (!grown[p->doc->n_anchors].name)
        return wfs_error_nomem(p->err);
    grown[p->doc->n_anchors++].node = node;
    return 0;
}

static int find_alias(struct parser *p, const yaml_event_t *event, const struct node **ret)
{
    for (size_t i = 0; i < p->doc->n_anchors; i++) {
        if (strcmp(p->doc->anchors[i].name, (const char *)event->data.alias.anchor) == 0) {
            *ret = p->doc->anchors[i].node;
            return 0;
        }
    }
    return fail(p, EINVAL, &event->start_mark, "an alias without an anchor");
}

/* The text with NUL bytes as C0 80. */
static char *copy_text(const yaml_char_t *text, size_t len)
{
    struct wfs_buf b = WFS_BUF_INIT;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == 0)
            wfs_buf_str(&b, "\xc0\x80");
        else
            wfs_buf_u8(&b, text[i]);
    }
    return (char *)wfs_buf_steal(&b, NULL);
}

static int compose_scalar(struct parser *p, const yaml_event_t *event, const struct node **ret)
{
    const char *tag = (const char *)event->data.scalar.tag, *reason = "";
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct node *n = add_node(p);
    int r;

    if (!n)
        return wfs_error_nomem(p->err);
    n->text = copy_text(event->data.scalar.value, event->data.scalar.length);
    if (!n->text)
        return wfs_error_nomem(p->err);
    n->public.text = n->text;
    if (tag && strcmp(tag, "!") == 0) { /* "!" asks for the plain rules, quoted or not */
        tag = NULL;
        plain = true;
    }
    r = wfs_yaml_resolve(p->resolver, tag, plain, &n->public, strlen(n->text), &n->merge, &n->value, &reason);
    if (r < 0)
        return r == -ENOMEM ? wfs_error_nomem(p->err) : fail(p, -r, &event->start_mark, reason);
    *ret = n;
    return add_anchor(p, event->data.scalar.anchor, n, &event->start_mark);
}

static int compose(struct parser *p, const yaml_event_t *event, unsigned depth, const struct node **ret);

/* "<<" and "=" have a meaning as keys only: elsewhere PyYAML cannot construct them. */
static int check_value(struct parser *p, const struct node *n, const yaml_mark_t *mark)
{
    if (n->merge || n->value)
        return fail(p, EINVAL, mark, "could not determine a constructor for this value");
    return 0;
}

static bool is_default_tag(const yaml_char_t *tag, const char *kind)
{
    static const char prefix[] = "tag:yaml.org,2002:";

    if (!tag || strcmp((const char *)tag, "!") == 0)
        return true;
    return strncmp((const char *)tag, prefix, sizeof prefix - 1) == 0 &&
           strcmp((const char *)tag + sizeof prefix - 1, kind) == 0;
}

static int compose_list(struct parser *p, const yaml_event_t *start, unsigned depth, const struct node **ret)
{
    struct node *n = add_node(p);
    size_t cap = 0;
    int r;

    if (!n)
        return wfs_error_nomem(p->err);
    n->public.kind = WFS_YAML_LIST;
    if (!is_default_tag(start->data.sequence_start.tag, "seq"))
        return fail(p, ENOTSUP, &start->start_mark, "a tag that is not supported");
    r = add_anchor(p, start->data.sequence_start.anchor, n, &start->start_mark);
    while (r == 0) {
        const struct node *item = NULL;
        yaml_event_t event;

        r = next_event(p, &event);
        if (r < 0)
            break;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            *ret = n;
            break;
        }
        r = compose(p, &event, depth + 1, &item);
        if (r == 0)
            r = check_value(p, item, &event.start_mark);
        yaml_event_delete(&event);
        if (r == 0 && n->public.n == cap) {
            void *grown = reallocarray(n->public.items, cap ? cap * 2 : 8, sizeof *n->public.items);

            cap = cap ? cap * 2 : 8;
            if (grown)
                n->public.items = grown;
            else
                r = wfs_error_nomem(p->err);
        }
        if (r == 0)
            n->public.items[n->public.n++] = &item->public;
    }
    return r;
}

static int add_pair(struct parser *p, struct node *n, struct wfs_yaml_pair pair)
{
    struct wfs_yaml_pair *grown = reallocarray(n->public.pairs, n->public.n + 1, sizeof *grown);

    if (!grown)
        return wfs_error_nomem(p->err);
    n->public.pairs = grown;
    grown[n->public.n++] = pair;
    return 0;
}

/* The pairs of a "<<" value, a mapping or a list of them. */
static int merge(struct parser *p, struct node *into, const struct wfs_yaml_node *from, const yaml_mark_t *mark)
{
    int r = 0;

    if (from->kind == WFS_YAML_LIST) {
        for (size_t i = 0; i < from->n && r == 0; i++)
            r = from->items[i]->kind == WFS_YAML_DICT ? merge(p, into, from->items[i], mark) :
                                                         fail(p, EINVAL, mark, "expected a mapping for merging");
        return r;
    }
    if (((const struct node *)from)->open)
        return fail(p, EINVAL, mark, "found unconstructable recursive node");
    if (from->kind != WFS_YAML_DICT)
        return fail(p, EINVAL, mark, "expected a mapping or list of mappings for merging");
    p->n_merged += from->n;
    if (p->n_merged > MAX_MERGED)
        return fail(p, EFBIG, mark, "too much is merged");
    for (size_t i = 0; i < from->n && r == 0; i++)
        r = add_pair(p, into, from->pairs[i]);
    return r;
}

/* One key and its value; merged pairs are collected apart, since they stand before the mapping's own. */
static int compose_pair(struct parser *p, const yaml_event_t *key_event, unsigned depth, struct node *own,
                        struct node *merged)
{
    const struct node *key = NULL, *value = NULL;
    yaml_event_t event;
    int r = compose(p, key_event, depth + 1, &key);

    if (r < 0)
        return r;
    if (key->public.kind == WFS_YAML_LIST || key->public.kind == WFS_YAML_DICT)
        return fail(p, EINVAL, &key_event->start_mark, "found unhashable key");
    r = next_event(p, &event);
    if (r < 0)
        return r;
    r = compose(p, &event, depth + 1, &value);
    if (r == 0)
        r = check_value(p, value, &event.start_mark);
    if (r == 0 && key->merge)
        r = merge(p, merged, &value->public, &event.start_mark);
    else if (r == 0)
        r = add_pair(p, own, (struct wfs_yaml_pair){ &key->public, &value->public });
    yaml_event_delete(&event);
    return r;
}

static int compose_dict(struct parser *p, const yaml_event_t *start, unsigned depth, const struct node **ret)
{
    struct node *n = add_node(p), own = { .public = { .kind = WFS_YAML_DICT } };
    int r;

    if (!n)
        return wfs_error_nomem(p->err);
    n->public.kind = WFS_YAML_DICT;
    n->open = true;
    if (!is_default_tag(start->data.mapping_start.tag, "map"))
        return fail(p, ENOTSUP, &start->start_mark, "a tag that is not supported");
    r = add_anchor(p, start->data.mapping_start.anchor, n, &start->start_mark);
    while (r == 0) {
        yaml_event_t event;

        r = next_event(p, &event);
        if (r < 0)
            break;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            for (size_t i = 0; i < own.public.n && r == 0; i++)
                r = add_pair(p, n, own.public.pairs[i]);
            *ret = n;
            break;
        }
        r = compose_pair(p, &event, depth, &own, n);
        yaml_event_delete(&event);
    }
    free(own.public.pairs);
    n->open = false;
    return r;
}

static int compose(struct parser *p, const yaml_event_t *event, unsigned depth, const struct node **ret)
{
    if (depth > WFS_YAML_MAX_DEPTH)
        return fail(p, EINVAL, &event->start_mark, "nested too deep");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return compose_scalar(p, event, ret);
    case YAML_ALIAS_EVENT:
        return find_alias(p, event, ret);
    case YAML_SEQUENCE_START_EVENT:
        return compose_list(p, event, depth, ret);
    case YAML_MAPPING_START_EVENT:
        return compose_dict(p, event, depth, ret);
    default:
        return fail(p, EINVAL, &event->start_mark, "not a value");
    }
}

static int read_document(struct parser *p)
{
    for (;;) {
        yaml_event_t event;
        yaml_event_type_t type;
        int r = next_event(p, &event);

        if (r < 0)
            return r;
        type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && p->doc->root) {
            r = fail(p, EINVAL, &event.start_mark, "expected a single document, but found another");
        } else if (type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT &&
                   type != YAML_DOCUMENT_START_EVENT && type != YAML_DOCUMENT_END_EVENT) {
            r = compose(p, &event, 0, &p->doc->root);
            if (r == 0)
                r = check_value(p, p->doc->root, &event.start_mark);
        }
        yaml_event_delete(&event);
        if (r < 0 || type == YAML_STREAM_END_EVENT)
            return r;
    }
}

int wfs_yaml_parse(const char *text, size_t len, const char *name, struct wfs_yaml **ret, struct wfs_error *err)
{
    struct parser p = { .name = name, .err = err };
    int r;

    if (len > WFS_YAML_MAX_BYTES)
        return wfs_error_set(err, EFBIG, "%s: more than %d bytes of YAML", name, WFS_YAML_MAX_BYTES);
    p.doc = calloc(1, sizeof *p.doc);
    p.resolver = wfs_yaml_resolver_new();
    if (!p.doc || !p.resolver || !yaml_parser_initialize(&p.yaml)) {
        wfs_yaml_resolver_free(p.resolver);
        free(p.doc);
        return wfs_error_set(err, ENOMEM, "out of memory");
    }
    yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p.yaml, (const unsigned char *)text, len);
    r = read_document(&p);
    yaml_parser_delete(&p.yaml);
    wfs_yaml_resolver_free(p.resolver);
    if (r < 0) {
        wfs_yaml_free(p.doc);
        return r;
    }
    *ret = p.doc;
    return 0;
}

void wfs_yaml_free(struct wfs_yaml *y)
{
    if (!y)
        return;
    for (struct node *n = y->nodes, *next; n; n = next) {
        next = n->next;
        free(n->text);
        free(n->public.items);
        free(n->public.pairs);
        free(n);
    }
    for (size_t i = 0; i < y->n_anchors; i++)
        free(y->anchors[i].name);
    free(y->anchors);
    free(y);
}

const struct wfs_yaml_node *wfs_yaml_root(const struct wfs_yaml *y)
{
    return y->root ? &y->root->public : NULL;
}

const struct wfs_yaml_node *wfs_yaml_get(const struct wfs_yaml_node *node, const char *key)
{
    if (!node || node->kind != WFS_YAML_DICT)
        return NULL;
    for (size_t i = node->n; i-- > 0;) {
        const struct wfs_yaml_node *k = node->pairs[i].key;

        if (k->kind == WFS_YAML_STRING && strcmp(k->text, key) == 0)
            return node->pairs[i].value;
    }
    return NULL;
}

bool wfs_yaml_is_true(const struct wfs_yaml_node *node)
{
    switch (node->kind) {
    case WFS_YAML_NULL:
        return false;
    case WFS_YAML_BOOL:
    case WFS_YAML_INT:
        return node->i != 0;
    case WFS_YAML_FLOAT:
        return node->f != 0;
    case WFS_YAML_STRING:
        return node->text[0] != '\0';
    case WFS_YAML_LIST:
    case WFS_YAML_DICT:
        return node->n != 0;
    case WFS_YAML_BIG:
    case WFS_YAML_DATE:
        return true;
    }
    return true;
}

const char *wfs_yaml_kind_name(const struct wfs_yaml_node *node)
{
    static const char *const names[] = {
        [WFS_YAML_NULL] = "empty",       [WFS_YAML_BOOL] = "a boolean",  [WFS_YAML_INT] = "an integer",
        [WFS_YAML_BIG] = "an integer",   [WFS_YAML_FLOAT] = "a number",  [WFS_YAML_STRING] = "a text",
        [WFS_YAML_DATE] = "a date",      [WFS_YAML_LIST] = "a list",     [WFS_YAML_DICT] = "a mapping",
    };

    return names[node->kind];
}
