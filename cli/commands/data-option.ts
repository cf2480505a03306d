import { Option } from 'commander'
import { dataDirectory } from '../config/directories.ts'

/** `--data`; its help says where the state is without it. */
export function dataOption(): Option {
  return new Option('--data <directory>', `where the state is kept (BERTH_DATA; here ${dataDirectory()})`)
}
