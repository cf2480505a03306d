import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

export const secretFiles: PartCheck = {
  name: 'files with secrets',
  nameBy: 'check_secret_files',
  of: ['manager', 'agent'],
  run({ secrets, platform }) {
    if (platform === 'win32' || secrets.length === 0) return undefined
    const open = secrets.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path)
    if (open.length === 0) return ok(because('secret_files_well', { count: secrets.length }))
    return problem(
      because('secret_files_open', { paths: open.join(', ') }),
      because('run_command', { command: `chmod 600 ${open.join(' ')}` }),
    )
  },
}
