import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

/** Default of the kernel on computers with up to 32 cores, where the system does not raise it. */
const FEW_PROCESSES = 32_768
/** A watch takes more memory of the session that has it, so its limit of memory comes first. */
const WATCH_BYTES = 128

/** Limits of the kernel that all sessions of the host share (docs/adr/0020-shared-limits.md). */
export const kernelLimits: PartCheck = {
  name: 'limits of the kernel',
  nameBy: 'check_kernel_limits',
  of: ['agent'],
  run({ kernelLimits: limits }) {
    if (!limits) return undefined
    const { processes, epollWatches, memBytes } = limits
    if (processes <= FEW_PROCESSES) {
      return warning(because('kernel_processes_few', { count: processes }), because('kernel_processes_few_mend'))
    }
    const enough = 2 ** Math.ceil(Math.log2(memBytes / WATCH_BYTES))
    const values = { processes, watches: epollWatches }
    if (epollWatches * WATCH_BYTES >= memBytes) return ok(because('kernel_limits_high', values))
    // No warning: the agent ends processes that hold most of them.
    return ok(because('kernel_limits_epoll', { ...values, command: `sysctl -w fs.epoll.max_user_watches=${enough}` }))
  },
}
