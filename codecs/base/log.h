/* The program's log. Library code does not log: the edge (mount/) does, once per cause. */
#ifndef WFS_BASE_LOG_H
#define WFS_BASE_LOG_H

#include <stdbool.h>

enum wfs_log_level { WFS_LOG_ERROR, WFS_LOG_WARNING, WFS_LOG_INFO, WFS_LOG_DEBUG };

/* Where lines go: standard error until wfs_log_to_syslog or wfs_log_to_file is called (before threads start). */
void wfs_log_to_syslog(const char *ident);
bool wfs_log_to_file(const char *path); /* appends; false with errno when it cannot be opened */
void wfs_log_set_level(enum wfs_log_level level);

/* One line; a time stamp in files. Texts from outside must come escaped (struct wfs_error messages are). */
void wfs_log(enum wfs_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
