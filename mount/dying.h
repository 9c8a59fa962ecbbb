/* Whether a thread that waits for an answer is being killed. */
#ifndef WFS_MOUNT_DYING_H
#define WFS_MOUNT_DYING_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * True when a signal that ends its process is pending for this thread (a SIGKILL, or another that it neither handles,
 * blocks nor ignores). By /proc/TID/status (proc(5)); false when that cannot be seen: tid 0 is one of another PID
 * namespace.
 */
bool wfs_thread_is_dying(pid_t tid);

#endif
