import { type Check, ok, problem } from '../check.ts'

export const dataDirectory: Check = {
  name: 'data directory',
  of: ['manager', 'agent'],
  run({ data, isRoot }) {
    if (!data.exists) return ok(`${data.path} will be created at the first start.`)
    if (data.foreign && !isRoot)
      return problem(
        `${data.path} belongs to another user.`,
        'Run Berth as that user, or name another data directory with --data.',
      )
    if (data.mode !== undefined && (data.mode & 0o022) !== 0)
      return problem(`Other users can write to ${data.path}.`, `chmod go-w ${data.path}`)
    return ok(`${data.path}.`)
  },
}
