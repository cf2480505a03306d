// Loaded into the servers of the bench (NODE_OPTIONS=--import): SIGUSR2 collects garbage, so that their memory can be compared.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => {
  for (let i = 0; i < 5; i++) collect()
})
