#include "dying.h"

#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t bit(int signal)
{
    return (uint64_t)1 << (signal - 1);
}

bool wfs_thread_is_dying(pid_t tid)
{
    /* What does not end a process that says nothing about it: signal(7). */
    uint64_t harmless = bit(SIGCHLD) | bit(SIGCONT) | bit(SIGURG) | bit(SIGWINCH) | bit(SIGSTOP) | bit(SIGTSTP) |
                        bit(SIGTTIN) | bit(SIGTTOU);
    uint64_t pending = 0, spared = 0, mask;
    char path[40], line[128];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", tid);
    f = tid > 0 ? fopen(path, "re") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "SigPnd: %" SCNx64, &mask) == 1 || sscanf(line, "ShdPnd: %" SCNx64, &mask) == 1)
            pending |= mask;
        else if (sscanf(line, "SigBlk: %" SCNx64, &mask) == 1 || sscanf(line, "SigIgn: %" SCNx64, &mask) == 1 ||
                 sscanf(line, "SigCgt: %" SCNx64, &mask) == 1)
            spared |= mask;
    }
    if (f)
        fclose(f);
    return (pending & ~spared & ~harmless) != 0;
}
