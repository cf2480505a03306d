import { readKernelText } from '../read-kernel-text.ts'

/** Processes and threads that this host can have at a time; undefined where the kernel does not tell. @see proc(5) */
export function hostProcesses(): number | undefined {
  const limits = ['pid_max', 'threads-max'].map(name => Number(readKernelText(`/proc/sys/kernel/${name}`)))
  return limits.every(limit => limit > 0) ? Math.min(...limits) : undefined
}
