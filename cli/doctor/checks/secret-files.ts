import { type Check, ok, problem } from '../check.ts'

export const secretFiles: Check = {
  name: 'files with secrets',
  of: ['manager', 'agent'],
  run({ secrets, platform }) {
    if (platform === 'win32' || secrets.length === 0) return undefined
    const open = secrets.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path)
    if (open.length === 0) return ok(`${secrets.length}, each readable by its owner only.`)
    return problem(`Other users can read ${open.join(', ')}.`, `chmod 600 ${open.join(' ')}`)
  },
}
