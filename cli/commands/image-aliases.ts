import { type Command } from 'commander'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'

/** Adds `alias add|rm|ls`. @param image the command `berth admin image` */
export function addImageAliasCommands(image: Command): void {
  const alias = image
    .command('alias')
    .description('Short names of images, for everything that names an image: launches, templates, pulls.')

  alias
    .command('add <alias> <reference>')
    .description('Give an image an alias, such as python.')
    .option('--json', 'print JSON')
    .action(async (name: string, reference: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const made = await api.putImageAlias({ body: { alias: name, reference } })
      createOutput(json).data(made, () => `${made.alias} stands for ${made.reference}.`)
    })

  alias
    .command('rm <alias>')
    .description('Remove an alias. Sessions keep the name that it stood for.')
    .action(async (name: string) => {
      const { api } = await connect()
      await api.deleteImageAlias({ params: { alias: name } })
    })

  alias
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listImageAliases()
      createOutput(json).data(items, () =>
        table(
          ['ALIAS', 'IMAGE'],
          items.map(one => [one.alias, one.reference]),
        ),
      )
    })
}
