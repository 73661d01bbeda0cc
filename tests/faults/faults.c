/*
 * Faults between a program and its disk, at a system call that a test chooses.
 *
 * Loaded into the sidecar with LD_PRELOAD, it stands before the calls by which a checkpoint comes to
 * disk, and before those by which a commit goes to Kafka. The program is the one that users run: it
 * knows nothing of this. Told by its environment:
 *
 *   FAULTS_FOLDER   the folder that calls are watched below
 *   FAULTS_PLAN     a file that says what goes wrong; without it nothing does. It is looked at with
 *                   every call, so that a test may change it under a running program.
 *
 * The plan's first line is one of those below. The second names a file that gets a line for each call
 * that is listed or held: "NUMBER CALL FILE".
 *
 * A checkpoint begins when a file *.draft is opened, and lasts until the thread opens the next one.
 * Its calls are numbered from 0 by thread, the opening being 0. A plan holds from the first checkpoint
 * that begins after it was made:
 *
 *   list            every call is reported
 *   hold N          stay before call N of the third checkpoint, for ever; where it has fewer calls,
 *                   before the beginning of the fourth. Other threads go on, so that the test may look
 *                   around before it kills the process.
 *   hold CALL FILE  the same before that call, as in "hold fsync ."
 *   from N ERRNO    call N of every checkpoint, and all after it, fail
 *   only CALL FILE ERRNO
 *                   that call of every checkpoint fails, as in "only fsync worker-0.draft 5"
 *   short BYTES     a write takes at most so many bytes
 *   slow MILLIS     fsync takes so much longer
 *
 * and, whatever thread and checkpoint:
 *
 *   readonly        whatever would change the folder fails with EROFS
 *   commit before   hold before offsets are sent to Kafka
 *   commit after    hold after that
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The checkpoint that is held, counted from 1: two before it were made visible under load. */
#define HELD_CHECKPOINT 3
/* What a commit's metadata begins with. */
#define COMMIT_MARK "rankgauge/1 counted="
#define MOST_FILES 1024
#define NAME 128

/* Names of files below the folder, by descriptor; empty for any other. */
static char open_files[MOST_FILES][NAME];

static __thread char plan[PATH_MAX + NAME]; /* As it stands in the file. */
static __thread const char *reports = "";   /* Its second line. */
static __thread int checkpoint; /* Begun under this plan, by this thread. */
static __thread int call = -1;  /* Within the checkpoint; -1 before the first. */

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* Reads the plan; a changed one makes the thread count anew. */
static void read_plan(void)
{
    char now[sizeof plan] = "";
    long file = syscall(SYS_openat, AT_FDCWD, setting("FAULTS_PLAN"), O_RDONLY | O_CLOEXEC, 0);
    if (file >= 0) {
        long length = syscall(SYS_read, file, now, sizeof now - 1);
        now[length > 0 ? length : 0] = '\0';
        syscall(SYS_close, file);
    }
    if (strcmp(now, plan) != 0) {
        strcpy(plan, now);
        reports = strchr(plan, '\n') ? strchr(plan, '\n') + 1 : "";
        checkpoint = 0;
        call = -1;
    }
}

static int planned(const char *what)
{
    size_t length = strlen(what);
    return strncmp(plan, what, length) == 0 && plan[length] == '\n';
}

static void report(const char *what, const char *file)
{
    char line[2 * NAME];
    int length = snprintf(line, sizeof line, "%d %s %s\n", call, what, file);
    long out = syscall(SYS_openat, AT_FDCWD, reports,
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out >= 0) {
        syscall(SYS_write, out, line, length);
        syscall(SYS_close, out);
    }
}

static void hold(const char *what, const char *file)
{
    report(what, file);
    for (;;)
        pause();
}

/* The path within the folder, "." for the folder itself; NULL for any other. */
static const char *watched(const char *path)
{
    const char *folder = setting("FAULTS_FOLDER");
    size_t length = strlen(folder);
    if (length == 0 || strncmp(path, folder, length) != 0)
        return NULL;
    if (path[length] == '\0')
        return ".";
    return path[length] == '/' ? path + length + 1 : NULL;
}

static const char *watched_descriptor(int descriptor)
{
    int known = descriptor >= 0 && descriptor < MOST_FILES;
    return known && open_files[descriptor][0] ? open_files[descriptor] : NULL;
}

/*
 * Stands before a call about `file`: holds, or returns the error that the call is to fail with, or 0.
 * `begins` says that this is how a checkpoint begins, `changes` that it would change the folder.
 */
static int before(const char *what, const char *file, int begins, int changes)
{
    char planned_call[NAME], planned_file[NAME];
    int number, error, is_planned;
    read_plan();
    if (planned("readonly"))
        return changes ? EROFS : 0;
    if (begins) {
        checkpoint += 1;
        call = 0;
    } else if (checkpoint > 0) {
        call += 1;
    }
    if (checkpoint == 0)
        return 0;
    if (planned("list"))
        report(what, file);
    if (sscanf(plan, "hold %d", &number) == 1)
        is_planned = call == number;
    else
        is_planned = sscanf(plan, "%*s %127s %127s", planned_call, planned_file) == 2 &&
                     strcmp(what, planned_call) == 0 && strcmp(file, planned_file) == 0;
    if (strncmp(plan, "hold ", 5) == 0 && ((checkpoint == HELD_CHECKPOINT && is_planned) ||
                                           checkpoint > HELD_CHECKPOINT))
        hold(what, file);
    if (is_planned && sscanf(plan, "only %*s %*s %d", &error) == 1)
        return error;
    if (sscanf(plan, "from %d %d", &number, &error) == 2 && call >= number)
        return error;
    return 0;
}

static int failed(int error)
{
    errno = error;
    return -1;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    const char *file = watched(path);
    int changes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
    int opened, error;
    if (file) {
        const char *suffix = strrchr(file, '.');
        int begins = changes && suffix && strcmp(suffix, ".draft") == 0;
        if ((error = before("open", file, begins, changes)))
            return failed(error);
    }
    opened = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (file && opened >= 0 && opened < MOST_FILES)
        snprintf(open_files[opened], NAME, "%s", file);
    return opened;
}

static mode_t mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        mode_t mode;                                                                               \
        va_start(rest, flags);                                                                     \
        mode = mode_of(flags, rest);                                                               \
        va_end(rest);                                                                              \
        return open_at(AT_FDCWD, path, flags, mode);                                               \
    }
#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list rest;                                                                              \
        mode_t mode;                                                                               \
        va_start(rest, flags);                                                                     \
        mode = mode_of(flags, rest);                                                               \
        va_end(rest);                                                                              \
        return open_at(folder, path, flags, mode);                                                 \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int descriptor)
{
    const char *file = watched_descriptor(descriptor);
    int error = file ? before("close", file, 0, 0) : 0;
    if (file)
        open_files[descriptor][0] = '\0';
    /* Whatever it says, a file is closed by it. */
    if (syscall(SYS_close, descriptor) < 0)
        return -1;
    return error ? failed(error) : 0;
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    const char *file = watched_descriptor(descriptor);
    size_t most;
    int error;
    if (file) {
        if ((error = before("write", file, 0, 1)))
            return failed(error);
        if (sscanf(plan, "short %zu", &most) == 1 && count > most)
            count = most;
    }
    return syscall(SYS_write, descriptor, bytes, count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    const char *file = watched_descriptor(descriptor);
    int error;
    if (file && (error = before("writev", file, 0, 1)))
        return failed(error);
    return syscall(SYS_writev, descriptor, parts, count);
}

static int sync_with(long number, const char *what, int descriptor)
{
    const char *file = watched_descriptor(descriptor);
    long millis;
    int error;
    if (file) {
        if ((error = before(what, file, 0, 1)))
            return failed(error);
        if (sscanf(plan, "slow %ld", &millis) == 1) {
            struct timespec time = {millis / 1000, millis % 1000 * 1000000};
            while (nanosleep(&time, &time) != 0)
                ;
        }
    }
    return (int)syscall(number, descriptor);
}

int fsync(int descriptor)
{
    return sync_with(SYS_fsync, "fsync", descriptor);
}

int fdatasync(int descriptor)
{
    return sync_with(SYS_fdatasync, "fdatasync", descriptor);
}

int rename(const char *from, const char *to)
{
    const char *file = watched(to);
    int error;
    if (file && (error = before("rename", file, 0, 1)))
        return failed(error);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    const char *file = watched(path);
    int error;
    if (file && (error = before("unlink", file, 0, 1)))
        return failed(error);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int mkdir(const char *path, mode_t mode)
{
    const char *file = watched(path);
    int error;
    if (file && (error = before("mkdir", file, 0, 1)))
        return failed(error);
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* Whether a message tells Kafka offsets that were counted, wherever its parts are divided. */
static int is_commit(const struct msghdr *message)
{
    const char *mark = COMMIT_MARK;
    size_t matched = 0, part, at;
    for (part = 0; part < message->msg_iovlen; part++) {
        const char *bytes = message->msg_iov[part].iov_base;
        for (at = 0; at < message->msg_iov[part].iov_len; at++) {
            /* The mark's first letter is in it once. */
            matched = bytes[at] == mark[matched] ? matched + 1 : bytes[at] == mark[0];
            if (mark[matched] == '\0')
                return 1;
        }
    }
    return 0;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    int commit = is_commit(message);
    ssize_t sent;
    if (commit) {
        read_plan();
        if (planned("commit before"))
            hold("sendmsg", "commit");
    }
    sent = syscall(SYS_sendmsg, socket, message, flags);
    if (commit && planned("commit after"))
        hold("sent", "commit");
    return sent;
}
