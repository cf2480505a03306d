import { type Check, ok, problem } from '../check.ts'

const OLDEST_MAJOR = 24

export const nodeVersion: Check = {
  name: 'Node',
  of: ['manager', 'agent'],
  run({ nodeVersion: version }) {
    if (Number.parseInt(version.replace(/^v/, ''), 10) >= OLDEST_MAJOR) return ok(`${version}.`)
    return problem(`${version} is too old.`, `Install Node ${OLDEST_MAJOR}, or run \`npm ci\`, which installs it.`)
  },
}
