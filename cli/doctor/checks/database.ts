import { because } from '#manager/contract'
import { type FindingByKey, type PartCheck, ok, problem, warning } from '../check.ts'
import { type DatabaseServer } from '../facts.ts'

const OLDEST = 150_000
/** Major version that ships with this Berth; `manager/store/embedded/binaries.ts` has it too, and refuses others. */
const EMBEDDED_MAJOR = '18'

export const database: PartCheck = {
  name: 'database',
  nameBy: 'check_database',
  of: ['manager'],
  run({ database: found }) {
    if (found.kind === 'embedded') {
      if (!found.readable) return ok(because('database_not_readable'))
      if (found.version === undefined) return ok(because('database_will_be_created'))
      if (found.version !== EMBEDDED_MAJOR)
        return problem(
          because('database_other_major', { found: found.version, ours: EMBEDDED_MAJOR }),
          because('database_other_major_mend'),
        )
      if (found.mode !== undefined && (found.mode & 0o027) !== 0)
        return problem(
          because('database_files_readable'),
          because('run_command', { command: 'chmod 700 DATA/db/cluster' }),
        )
      return ok(because('database_embedded', { version: found.version }))
    }
    if (found.status === 'unreachable')
      return problem(because('database_silent', { text: found.why }), because('database_silent_mend'))
    if (found.versionNumber < OLDEST)
      return problem(because('database_too_old', { version: found.version }), because('database_too_old_mend'))
    const wrong = judgeServers(found.servers ?? [])
    if (wrong?.level === 'problem') return wrong
    if (found.isReadOnly) return problem(because('database_read_only'), because('database_read_only_mend'))
    if (found.waitsForStandby)
      return problem(because('database_standby_silent'), because('database_standby_silent_mend'))
    return wrong ?? ok(because('database_external', { version: found.version }))
  },
}

/** Faults of several servers as a whole, worst first. */
function judgeServers(servers: readonly DatabaseServer[]): FindingByKey | undefined {
  if (servers.length === 0) return undefined
  const primaries = servers.filter(server => server.role === 'primary').toSorted((a, b) => b.timeline - a.timeline)
  const [primary, old] = primaries
  if (primary && old) {
    const values = { newer: primary.at, timeline: primary.timeline, older: old.at, oldTimeline: old.timeline }
    return problem(
      because('database_two_primaries', values),
      because('database_two_primaries_mend', { server: old.at }),
    )
  }
  if (!primary && servers.some(server => server.role === 'standby'))
    return problem(because('database_no_primary'), because('database_no_primary_mend'))
  const away = servers.find(server => server.role === 'away')
  if (away)
    return warning(
      because('database_server_away', { server: away.at, text: away.why }),
      because('database_server_away_mend', { server: away.at }),
    )
  const unfed = servers.find(server => server.role === 'standby' && !server.isFed)
  if (unfed)
    return warning(
      because('database_standby_unfed', { server: unfed.at }),
      because('database_standby_unfed_mend', { server: unfed.at }),
    )
  return undefined
}
