import { type ChildProcess } from 'node:child_process'
import { type OwnBerth } from './own-berth.ts'
import { Skipped } from './table.ts'

/** Work that a program in a session does on its GPU. */
export interface Task {
  readonly gibibytes: number
  /** False: it holds the memory and computes nothing. */
  readonly computes: boolean
}

/** A program that works, started in a session. */
export interface Working {
  /** Resolves when it holds its memory and computes. @throws with its output if it ends before */
  readonly begun: Promise<void>
  /** Everything that it prints; '' is possible. Resolves when it has ended, whatever ended it. */
  readonly ended: Promise<string>
  stop(): void
}

/** Programs that use a GPU: PyTorch, or the stand-in's. */
export interface Work {
  readonly by: string
  /** PyTorch itself; throws `Skipped` where the image has none. */
  needsPyTorch(): void
  /** Python with the driver's library; throws `Skipped` where there is no real driver. */
  needsDriver(): void
  readonly python: string
  /** Percent that a computing program shows at least, alone. */
  readonly leastPercent: number
  start(berth: OwnBerth, session: string, task: Task, signal: AbortSignal): Working
}

/** Holds memory by an ordinary allocation, and multiplies matrices until SIGTERM. Arguments: GiB, 1 or 0 for computing. */
const PYTORCH = `
import signal, sys, time, torch
gib, computes, ending = float(sys.argv[1]), sys.argv[2] == "1", []
signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
held = torch.zeros(int(gib * 2**30), dtype=torch.uint8, device="cuda")
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
for _ in range(3):
    a @ a
torch.cuda.synchronize()
print("working", flush=True)
begun, count = time.time(), 0
while not ending and time.time() - begun < 120:
    if computes:
        for _ in range(20):
            a @ a
        torch.cuda.synchronize()
        count += 20
    else:
        time.sleep(0.1)
if computes:
    print(round(2 * 8192**3 * count / (time.time() - begun) / 1e12), "TFLOP/s", flush=True)
print("done", flush=True)
`

/** Allocates managed memory, uses it on the GPU and keeps it. Argument: MiB. It refuses more than half of what is free. */
export const MANAGED = `
import ctypes, signal, sys, time
ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
cuda, size = ctypes.CDLL("libcuda.so.1"), int(sys.argv[1]) << 20
device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
def do(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        sys.exit("%s failed with error %d" % (name, code))
do("cuInit", ctypes.c_uint(0))
do("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
do("cuCtxSetCurrent", context)
do("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
if free.value < 2 * size:
    sys.exit("too little free memory: %d MiB" % (free.value >> 20))
do("cuMemAllocManaged", ctypes.byref(pointer), ctypes.c_size_t(size), ctypes.c_uint(1))
do("cuMemsetD8_v2", pointer, ctypes.c_ubyte(1), ctypes.c_size_t(size))
do("cuCtxSynchronize")
print("working", flush=True)
until = time.time() + 60
while not ending and time.time() < until:
    time.sleep(0.1)
print("done", flush=True)
`

/** Allocates a part of the share, then more than the share. Argument: MiB of the share. */
export const BEYOND_SHARE = `
import sys, torch
share = int(sys.argv[1]) << 20
within = torch.empty(int(share * 0.5), dtype=torch.uint8, device="cuda")
print("half of the share: allowed", flush=True)
try:
    beyond = torch.empty(int(share * 0.7), dtype=torch.uint8, device="cuda")
    print("1.2 times the share: allowed", flush=True)
except torch.OutOfMemoryError:
    print("1.2 times the share: refused", flush=True)
`

/** The program of the stand-in (nvidia-smi.ts finds it by its arguments): MiB, percent. */
const STAND_IN = 'trap "kill \\$! 2>/dev/null; echo done; exit" TERM; sleep 120 & echo working; wait; echo done'

export function pyTorch(python: string, version: string): Work {
  return {
    by: `PyTorch ${version}`,
    needsPyTorch: () => undefined,
    needsDriver: () => undefined,
    python,
    leastPercent: 50,
    start(berth, session, { gibibytes, computes }, signal) {
      // The allocator of PyTorch must not refuse memory that a check of limits takes.
      const free = ['--env', 'PYTORCH_ALLOC_CONF=']
      const command = [python, '-c', PYTORCH, String(gibibytes), computes ? '1' : '0']
      return follow(berth.start('exec', ...free, session, '--', ...command), signal)
    },
  }
}

export function standInWork(python: string): Work {
  return {
    by: 'simulated',
    needsPyTorch() {
      throw new Skipped('simulated')
    },
    needsDriver() {
      throw new Skipped('simulated')
    },
    python,
    leastPercent: 40,
    start(berth, session, { gibibytes, computes }, signal) {
      const words = [String(Math.round(gibibytes * 1024)), computes ? '40' : '0']
      return follow(berth.start('exec', session, '--', 'sh', '-c', STAND_IN, 'gpu-work', ...words), signal)
    },
  }
}

/** A real GPU without PyTorch in the image: nothing works on it. */
export function noWork(python: string, why: string): Work {
  const skip = () => {
    throw new Skipped(why)
  }
  return { by: 'none', needsPyTorch: skip, needsDriver: () => undefined, python, leastPercent: 0, start: skip }
}

/** Follows a program that prints `working`. */
export function follow(child: ChildProcess, signal: AbortSignal): Working {
  let text = ''
  let onText: () => void = () => undefined
  const stop = () => child.kill('SIGTERM')
  signal.addEventListener('abort', stop)
  const listen = (chunk: Buffer) => {
    text += chunk.toString()
    onText()
  }
  child.stdout?.on('data', listen)
  child.stderr?.on('data', listen)
  const ended = new Promise<string>(done => {
    child.once('error', error => done(String(error)))
    // The last words of a program may come after its exit.
    child.once('exit', () => setTimeout(() => done(text.replace('working\n', '').trim()), 50))
  })
  const begun = new Promise<void>((done, fail) => {
    onText = () => {
      if (text.includes('working\n')) done()
    }
    void ended.then(said => {
      signal.removeEventListener('abort', stop)
      fail(new Error(`it ended before it worked: ${said.slice(-300)}`))
    })
  })
  begun.catch(() => undefined)
  return { begun, ended, stop }
}
