// A libnccl.so.2 that needs no GPU. Its replies are fixed when it is compiled.
#include <stddef.h>
#ifndef VERSION
#define VERSION 22809
#endif
#ifndef STATE
#define STATE 0 // The state of a communicator: 0 ready, 7 in progress, 6 a remote error.
#endif
static int aborted;
int ncclGetVersion(int* version) { *version = VERSION; return 0; }
int ncclGetUniqueId(void* id) { return 0; }
const char* ncclGetErrorString(int code) { return code == 6 ? "remote process exited" : "unhandled system error"; }
const char* ncclGetLastError(void* comm) { return "the fake has no further details"; }
#ifndef NO_INIT
typedef struct { char bytes[128]; } Id;
int ncclCommInitRankConfig(void** comm, int world, Id id, int rank, void* config)
{
    *comm = &aborted;
    // The fields that newer libraries check: the size, a magic number, and the non-blocking mode.
    unsigned* words = config;
    if (*(size_t*)config < 48 || words[2] != 0xcafebeef || words[4] != 0) return 4;
    return 7;
}
#endif
static int split; // The number of blocking communicators that were split off.
int ncclCommSplit(void* comm, int color, int key, void** other, void* config)
{
#ifndef NO_SPLIT
    *other = &split;
#else
    return NO_SPLIT;
#endif
    split += ((int*)config)[4] == 1;
    return 7;
}
int fakeSplit(void) { return split; }
int ncclCommGetAsyncError(void* comm, int* code) { *code = STATE; return 0; }
int ncclCommFinalize(void* comm) { return 0; }
int ncclCommDestroy(void* comm) { return 0; }
int ncclCommAbort(void* comm) { aborted++; return 0; }
int fakeAborted(void) { return aborted; }
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }
int ncclAllGather(const void* a, void* b, size_t n, int type, void* comm, void* stream) { return 0; }
int ncclAllReduce(const void* a, void* b, size_t n, int type, int op, void* comm, void* stream) { return 0; }
int ncclSend(const void* a, size_t n, int type, int peer, void* comm, void* stream) { return 0; }
int ncclRecv(void* a, size_t n, int type, int peer, void* comm, void* stream) { return 0; }
