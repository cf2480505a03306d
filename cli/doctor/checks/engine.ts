import { type Check, ok, problem } from '../check.ts'

/** Docker 20.10: the version in Debian 12, and the oldest one the integration tests run on. */
const OLDEST_API = [1, 41] as const

export const engine: Check = {
  name: 'Docker Engine',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable')
      return problem(
        `The Docker Engine does not answer: ${engine.why}`,
        'Start Docker (systemctl start docker), or set DOCKER_HOST. As an ordinary user, join the group docker. Or run `berth up --no-engine`.',
      )
    const [major = 0, minor = 0] = engine.apiVersion.split('.').map(Number)
    if (major < OLDEST_API[0] || (major === OLDEST_API[0] && minor < OLDEST_API[1]))
      return problem(
        `Version ${engine.version} has API ${engine.apiVersion}; Berth needs ${OLDEST_API.join('.')} or newer.`,
        'Update Docker Engine to 20.10 or newer.',
      )
    return ok(`Version ${engine.version}, API ${engine.apiVersion}.`)
  },
}
