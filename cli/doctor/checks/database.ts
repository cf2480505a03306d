import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

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
    if (found.isReadOnly) return problem(because('database_read_only'), because('database_read_only_mend'))
    if (found.waitsForStandby)
      return problem(because('database_standby_silent'), because('database_standby_silent_mend'))
    return ok(because('database_external', { version: found.version }))
  },
}
