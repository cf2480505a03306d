import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { type Counters } from './cgroup.ts'

const count = z.number().nullish()
const Sample = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: count }) }),
  memory_stats: z.object({
    usage: count,
    max_usage: count,
    stats: z.object({ inactive_file: count, total_inactive_file: count }).nullish(),
  }),
  networks: z.record(z.string(), z.object({ rx_bytes: z.number(), tx_bytes: z.number() })).nullish(),
  blkio_stats: z.object({
    io_service_bytes_recursive: z.array(z.object({ op: z.string(), value: z.number() })).nullish(),
  }),
})

/** Parses one line of Docker's stats stream; used for engines whose processes are not those of this host. */
export function readDockerSample(line: string, atMs: number): Counters | undefined {
  const sample = Sample.safeParse(parseJson(line))
  if (!sample.success) return undefined
  const { cpu_stats, memory_stats: memory, networks, blkio_stats } = sample.data
  const used = memory.usage ?? 0
  const cache = memory.stats?.total_inactive_file ?? memory.stats?.inactive_file ?? 0
  const io = (op: string) =>
    (blkio_stats.io_service_bytes_recursive ?? [])
      .filter(entry => entry.op.toLowerCase() === op)
      .reduce((sum, entry) => sum + entry.value, 0)
  const net = Object.values(networks ?? {})
  return {
    atMs,
    cpuNanos: cpu_stats.cpu_usage.total_usage ?? 0,
    memBytes: Math.max(0, used - cache),
    memPeakBytes: memory.max_usage ?? used,
    netRxBytes: net.reduce((sum, device) => sum + device.rx_bytes, 0),
    netTxBytes: net.reduce((sum, device) => sum + device.tx_bytes, 0),
    diskReadBytes: io('read'),
    diskWriteBytes: io('write'),
  }
}
