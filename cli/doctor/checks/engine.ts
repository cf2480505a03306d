import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

/** Docker 20.10: the version in Debian 12, and the oldest one the integration tests run on. */
const OLDEST_API = [1, 41] as const

export const engine: PartCheck = {
  name: 'Docker Engine',
  nameBy: 'check_engine',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable')
      return problem(because('engine_silent', { text: engine.why }), because('engine_silent_mend'))
    if (engine.isPodman) return problem(because('engine_podman'), because('engine_podman_mend'))
    const [major = 0, minor = 0] = engine.apiVersion.split('.').map(Number)
    if (major < OLDEST_API[0] || (major === OLDEST_API[0] && minor < OLDEST_API[1]))
      return problem(
        because('engine_too_old', { version: engine.version, api: engine.apiVersion, needed: OLDEST_API.join('.') }),
        because('engine_too_old_mend'),
      )
    return ok(because('engine_version', { version: engine.version, api: engine.apiVersion }))
  },
}
