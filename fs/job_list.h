/* The pool's lists of jobs. A job is in at most one. */
#ifndef WFS_FS_JOB_LIST_H
#define WFS_FS_JOB_LIST_H

#include "pool.h"

struct list {
    struct wfs_job *head, *tail;
};

static inline void push(struct list *l, struct wfs_job *job)
{
    job->prev = l->tail;
    job->next = NULL;
    if (l->tail)
        l->tail->next = job;
    else
        l->head = job;
    l->tail = job;
}

static inline void remove_job(struct list *l, struct wfs_job *job)
{
    if (job->prev)
        job->prev->next = job->next;
    else
        l->head = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        l->tail = job->prev;
}

#endif
