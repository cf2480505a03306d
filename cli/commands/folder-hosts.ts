import { type Command } from 'commander'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { bytes } from './text.ts'

/** `berth folder hosts`. */
export function addFolderHostsCommand(folder: Command): void {
  folder
    .command('hosts')
    .description('Where folders can be kept, whether each place can be used now, and the room that is left.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items, folders } = await api.listStorageHosts()
      createOutput(json).data(items, () => {
        const sizeOf = (size: number | undefined) => (size === undefined ? '' : bytes(size))
        const rows = items.map(({ name, problem, space }) => [
          name,
          sizeOf(space?.usedBytes),
          sizeOf(space?.freeBytes),
          problem ?? 'ready',
        ])
        const count = `Own folders, those in the trash included: ${folders.count}${folders.limit === null ? '' : ` of ${folders.limit}`}`
        return `${table(['NAME', 'USED', 'FREE', 'STATE'], rows)}\n\n${count}`
      })
    })
}
