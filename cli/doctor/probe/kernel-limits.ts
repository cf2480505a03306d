import { readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { type KernelLimits } from '../facts.ts'

/** @returns undefined on a system other than Linux */
export async function readKernelLimits(): Promise<KernelLimits | undefined> {
  const [pidMax, threadsMax, epollWatches, files] = await Promise.all(
    ['kernel/pid_max', 'kernel/threads-max', 'fs/epoll/max_user_watches', 'fs/file-max'].map(async name =>
      Number(await readFile(`/proc/sys/${name}`, 'utf8').catch(() => '')),
    ),
  )
  if (!pidMax || !threadsMax || !epollWatches || !files) return undefined
  return { processes: Math.min(pidMax, threadsMax), epollWatches, files, memBytes: totalmem() }
}
