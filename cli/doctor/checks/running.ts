import { type Check, ok } from '../check.ts'

export const running: Check = {
  name: 'Berth',
  run({ running: found }) {
    return ok(found ? `Running as process ${found.pid}: ${found.url}` : 'Not running with this data directory.')
  },
}
