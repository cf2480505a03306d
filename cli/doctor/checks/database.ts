import { type Check, ok, problem } from '../check.ts'

const OLDEST = 150_000
/** Major version that ships with this Berth; `manager/store/embedded/binaries.ts` has it too, and refuses others. */
const EMBEDDED_MAJOR = '18'

export const database: Check = {
  name: 'database',
  of: ['manager'],
  run({ database: found }) {
    if (found.kind === 'embedded') {
      if (!found.readable) return ok('Embedded; only the user who runs Berth can check it.')
      if (found.version === undefined) return ok('Embedded; will be created at the first start.')
      if (found.version !== EMBEDDED_MAJOR)
        return problem(
          `The data directory holds PostgreSQL ${found.version}; this Berth has ${EMBEDDED_MAJOR}.`,
          'Make a backup with the Berth that wrote it (`berth backup`), then `berth restore` it into a new data directory.',
        )
      if (found.mode !== undefined && (found.mode & 0o027) !== 0)
        return problem(
          'Other users can read the files of the database, so PostgreSQL will not start.',
          'chmod 700 DATA/db/cluster',
        )
      return ok(`Embedded PostgreSQL ${found.version}.`)
    }
    if (found.status === 'unreachable')
      return problem(
        `The PostgreSQL of DATABASE_URL does not answer: ${found.why}`,
        'Check the address, the password and that the server runs (psql "$DATABASE_URL").',
      )
    if (found.versionNumber < OLDEST)
      return problem(`PostgreSQL ${found.version} is too old.`, 'Update the server to version 15 or newer.')
    return ok(`PostgreSQL ${found.version} at DATABASE_URL.`)
  },
}
