import { defined } from '#base/defined'
import { type AllocationRequest } from '../allocator.ts'

const MIB = 2 ** 20

/**
 * Arguments of `salloc` for a request. Each value is in one argument with its option, so that no value can be taken for an option. Pure.
 */
export function sallocArguments({
  name,
  nodes,
  cpus,
  memBytes,
  gpus,
  gpuType,
  node,
  exclude = [],
  settings,
}: AllocationRequest): string[] {
  const { partition, account, qos, constraint, reservation, timeLimitMinutes } = settings
  const options = defined({
    'job-name': name,
    // Each node gets one task.
    nodes: String(nodes),
    ntasks: String(nodes),
    'cpus-per-task': String(cpus),
    // Without an amount, a site may allocate the whole node.
    mem: `${Math.max(1, Math.ceil(memBytes / MIB))}M`,
    gres: gpus > 0 ? ['gpu', gpuType, gpus].filter(part => part !== undefined).join(':') : undefined,
    nodelist: node,
    exclude: exclude.length > 0 ? exclude.join(',') : undefined,
    partition,
    account,
    qos,
    constraint,
    reservation,
    time: timeLimitMinutes === undefined ? undefined : String(timeLimitMinutes),
  })
  // Without a shell, nothing runs on the node and the allocation lasts until it is cancelled. This comes first, then the name: rules for
  // `sudo` require both, because salloc starts any program without it (docs/admin/slurm.md).
  return ['--no-shell', ...Object.entries(options).map(([option, value]) => `--${option}=${value}`)]
}
