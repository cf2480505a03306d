// Loaded into the servers of the bench (NODE_OPTIONS=--import): SIGUSR2 collects garbage, so that their memory can be compared. Like V8 in
// a process that is idle for a while, this returns empty pages to the system; an ordinary collection keeps them. The remaining bytes of the
// heap are written to the file BERTH_BENCH_HEAP, if it is set.
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => {
  for (let i = 0; i < 2; i++) collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  if (process.env.BERTH_BENCH_HEAP) writeFileSync(process.env.BERTH_BENCH_HEAP, String(process.memoryUsage().heapUsed))
})
