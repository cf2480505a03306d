// Loaded into the servers of the bench (NODE_OPTIONS=--import): SIGUSR2 collects garbage, so that their memory can be compared. The bytes of
// the heap that are left go into the file BERTH_BENCH_HEAP, if it is set: V8 keeps the pages of collected garbage for a while.
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => {
  for (let i = 0; i < 5; i++) collect()
  if (process.env.BERTH_BENCH_HEAP) writeFileSync(process.env.BERTH_BENCH_HEAP, String(process.memoryUsage().heapUsed))
})
