/**
 * Python program that runs in the probe's container: `one BYTES` allocates once, `several BYTES` keeps that much allocated in
 * each of eight programs at a time. Its last line is `allocated` or `refused`; anything else (no driver, another error) is no
 * outcome. It needs only Python and the driver's own library, which the engine provides with the GPU.
 *
 * Functions of the CUDA driver API: cuInit, cuDeviceGet, cuDevicePrimaryCtxRetain, cuCtxSetCurrent, cuMemAlloc_v2. Error 2 is
 * CUDA_ERROR_OUT_OF_MEMORY. CUDA variables of the image are removed: a limit that depends on them is no limit.
 */
export const PROBE_SCRIPT = `
import ctypes, os, subprocess, sys

def allocate(size):
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    for name, arguments in (
        ("cuInit", (ctypes.c_uint(0),)),
        ("cuDeviceGet", (ctypes.byref(device), ctypes.c_int(0))),
        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)),
        ("cuCtxSetCurrent", (context,)),
        ("cuMemAlloc_v2", (ctypes.byref(pointer), ctypes.c_size_t(size))),
    ):
        code = getattr(cuda, name)(*arguments)
        if code == 2:
            return "refused"
        if code != 0:
            sys.exit("%s failed with error %d" % (name, code))
    return "allocated"

what, size = sys.argv[1], int(float(sys.argv[2]))
if what == "several":
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CUDA_")}
    held, outcome = [], "allocated"
    source = open("/proc/self/cmdline").read().split("\\0")[2]
    for _ in range(8):
        child = subprocess.Popen([sys.executable, "-c", source, "hold", str(size)], env=clean,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        held.append(child)
        said = child.stdout.readline().strip()
        if said not in ("allocated", "refused"):
            sys.exit("a program failed")
        if said == "refused":
            outcome = said
            break
    for child in held:
        child.stdin.close()
        child.wait()
    print(outcome, flush=True)
else:
    for name in [k for k in os.environ if k.startswith("CUDA_")]:
        os.unsetenv(name)
    print(allocate(size), flush=True)
    if what == "hold":
        sys.stdin.read()
`
