import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

/** A session can leave set-user-id programs in its files, and all sessions run as one user. */
export const sessionFiles: PartCheck = {
  name: 'files of sessions',
  nameBy: 'check_session_files',
  of: ['manager', 'agent'],
  run({ sessionFiles: found }) {
    if (found.length === 0) return undefined
    const open = found.filter(({ isOpen, hasNosuid }) => isOpen && !hasNosuid).map(({ path }) => path)
    if (open.length === 0) return ok(because('session_files_closed'))
    return warning(
      because('session_files_open', { paths: open.join(', ') }),
      because('session_files_open_mend', { command: `chmod 700 ${open.join(' ')}` }),
    )
  },
}
