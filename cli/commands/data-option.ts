import { Option } from 'commander'
import { dataDirectory } from '../config/directories.ts'

/** The `--data` option; its help names the default directory. */
export function dataOption(): Option {
  return new Option('--data <directory>', `where the state is kept (BERTH_DATA; here ${dataDirectory()})`)
}
