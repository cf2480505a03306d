import { because } from '#manager/contract'
import { gib } from '../amounts.ts'
import { type PartCheck, ok, warning } from '../check.ts'

/** An open file takes at least as much memory of the session that has it, so its limit of memory comes first. */
const FILE_BYTES = 256

/** Open files of all processes, which the kernel limits for the computer alone; systemd takes that limit away. */
export const openFiles: PartCheck = {
  name: 'open files',
  nameBy: 'check_open_files',
  of: ['agent'],
  run({ kernelLimits: limits }) {
    if (!limits) return undefined
    const { files, memBytes } = limits
    if (files * FILE_BYTES >= memBytes) return ok(because('open_files_many'))
    return warning(
      because('open_files_few', { count: files, size: gib(files * FILE_BYTES) }),
      because('open_files_few_mend', { command: 'sysctl -w fs.file-max=9223372036854775807' }),
    )
  },
}
