import { type Command } from 'commander'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { bytes } from './text.ts'

export function addImageCommands(program: Command): void {
  program
    .command('image')
    .description('Images that can be launched.')
    .command('ls')
    .description('Images that at least one agent holds.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listImages()
      createOutput(json).data(items, () =>
        table(
          ['IMAGE', 'TITLE', 'SIZE', 'APPS'],
          items.map(image => [
            image.reference,
            image.title,
            bytes(image.sizeBytes),
            image.apps.map(app => app.name).join(','),
          ]),
        ),
      )
    })
}
