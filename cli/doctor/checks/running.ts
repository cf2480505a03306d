import { type Check, ok } from '../check.ts'

export const running: Check = {
  name: 'Berth',
  run({ running: found }) {
    return ok(found ? `Runs as process ${found.pid}: ${found.url}` : 'Does not run with this data directory.')
  },
}
