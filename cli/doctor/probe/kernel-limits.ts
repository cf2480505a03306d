import { readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { type KernelLimits } from '../facts.ts'

/** @returns undefined on a system other than Linux */
export async function readKernelLimits(): Promise<KernelLimits | undefined> {
  const [pidMax, threadsMax, epollWatches] = await Promise.all(
    ['kernel/pid_max', 'kernel/threads-max', 'fs/epoll/max_user_watches'].map(async name =>
      Number(await readFile(`/proc/sys/${name}`, 'utf8').catch(() => '')),
    ),
  )
  if (!pidMax || !threadsMax || !epollWatches) return undefined
  return { processes: Math.min(pidMax, threadsMax), epollWatches, memBytes: totalmem() }
}
