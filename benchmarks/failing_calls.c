/* Fails the n-th call that touches what is below a folder: preloaded by system_calls.py, which arms it in a forked child. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, ONCE, FROM_THEN_ON, KILL };
static long number, calls;
static int mode = -1, code;
static char root[4096], below_fd[1 << 16];

void arm(const char *folder, long which, int how, int error) {
    strncpy(root, folder, sizeof root - 1);
    calls = 0, number = which, code = error, mode = how;
}

long counted(void) { return calls; }

static int below(int folder, const char *path) {
    if (mode < 0 || !path) return 0;
    if (*path == '/') return !strncmp(path, root, strlen(root));
    return folder == AT_FDCWD || (folder >= 0 && folder < (int)sizeof below_fd && below_fd[folder]);
}

static int ours(int fd) { return mode >= 0 && fd > 2 && fd < (int)sizeof below_fd && below_fd[fd]; }

static int fails(void) {
    long now = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (mode == COUNT || now < number || (mode == ONCE && now > number)) return 0;
    if (mode == KILL) kill(getpid(), SIGKILL);
    errno = code;
    return 1;
}

#define REAL(type, name, parameters) static type(*real) parameters; if (!real) real = dlsym(RTLD_NEXT, #name)
#define ON_FD(type, name, parameters, arguments) \
    type name parameters { REAL(type, name, parameters); return ours(fd) && fails() ? -1 : real arguments; }
#define ON_PATH(name, folder, path, parameters, arguments) \
    int name parameters { REAL(int, name, parameters); return below(folder, path) && fails() ? -1 : real arguments; }
#define OPENS(name, folder, parameters, arguments) \
    int name parameters { \
        REAL(int, name, parameters); \
        va_list more; va_start(more, flags); \
        int rights = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0; \
        va_end(more); \
        int mine = below(folder, path); \
        if (mine && fails()) return -1; \
        int fd = real arguments; \
        if (fd >= 0 && fd < (int)sizeof below_fd) below_fd[fd] = mine; \
        return fd; \
    }

OPENS(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, rights))
OPENS(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, rights))
OPENS(openat, at, (int at, const char *path, int flags, ...), (at, path, flags, rights))
OPENS(openat64, at, (int at, const char *path, int flags, ...), (at, path, flags, rights))
ON_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
ON_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
ON_FD(ssize_t, writev, (int fd, const struct iovec *data, int count), (fd, data, count))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, flock, (int fd, int how), (fd, how))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))
ON_PATH(rename, AT_FDCWD, a, (const char *a, const char *b), (a, b))
ON_PATH(renameat, f, a, (int f, const char *a, int g, const char *b), (f, a, g, b))
ON_PATH(renameat2, f, a, (int f, const char *a, int g, const char *b, unsigned how), (f, a, g, b, how))
ON_PATH(link, AT_FDCWD, b, (const char *a, const char *b), (a, b))
ON_PATH(linkat, g, b, (int f, const char *a, int g, const char *b, int how), (f, a, g, b, how))
ON_PATH(mkdir, AT_FDCWD, a, (const char *a, mode_t rights), (a, rights))
ON_PATH(mkdirat, f, a, (int f, const char *a, mode_t rights), (f, a, rights))
ON_PATH(unlink, AT_FDCWD, a, (const char *a), (a))
ON_PATH(unlinkat, f, a, (int f, const char *a, int how), (f, a, how))
ON_PATH(rmdir, AT_FDCWD, a, (const char *a), (a))

int close(int fd) { /* it closes, and says that it could not */
    REAL(int, close, (int));
    int mine = ours(fd), done = real(fd);
    if (fd >= 0 && fd < (int)sizeof below_fd) below_fd[fd] = 0;
    return mine && fails() ? -1 : done;
}
