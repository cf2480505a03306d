import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

export const dataDirectory: PartCheck = {
  name: 'data directory',
  nameBy: 'check_data_directory',
  of: ['manager', 'agent'],
  run({ data, isRoot }) {
    if (!data.exists) return ok(because('data_will_be_created', { path: data.path }))
    if (data.foreign && !isRoot)
      return problem(because('data_of_other_user', { path: data.path }), because('data_of_other_user_mend'))
    if (data.mode !== undefined && (data.mode & 0o022) !== 0)
      return problem(
        because('data_writable', { path: data.path }),
        because('run_command', { command: `chmod go-w ${data.path}` }),
      )
    return ok(because('data_is_at', { path: data.path }))
  },
}
