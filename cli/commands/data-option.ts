import { Option } from 'commander'
import { isAppError } from '#manager/contract'
import { dataDirectory } from '../config/directories.ts'

/** The `--data` option; its help names the default directory. */
export function dataOption(): Option {
  return new Option('--data <directory>', `where the state is kept (BERTH_DATA; ${hereText()})`)
}

function hereText(): string {
  try {
    return `here ${dataDirectory()}`
  } catch (error) {
    if (isAppError(error)) return 'no default here'
    throw error
  }
}
