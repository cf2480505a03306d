import { type Command } from 'commander'
import { type ApiClient, AppError, type SessionSpec, type SessionTemplate } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { age, amounts } from './text.ts'

interface JsonFlag {
  json?: boolean
}

/** `berth template …`: the templates of the user, which the console's launch dialog stores and lists too. */
export function addTemplateCommands(program: Command): void {
  const template = program.command('template').description('Your templates: settings of sessions, stored under names.')

  template
    .command('ls')
    .description('List your templates. `berth session create --template NAME` launches one.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listSessionTemplates()
      createOutput(json).data(items, () => templateTable(items))
    })

  template
    .command('default [name]')
    .description(
      'Let the launch dialog of the console begin with a template of yours; without a name, with your last launch.',
    )
    .action(async (name: string | undefined) => {
      const { api } = await connect()
      if (name !== undefined) {
        await api.setDefaultSessionTemplate({ params: { name }, body: { isDefault: true } })
        return
      }
      const before = (await api.listSessionTemplates()).items.find(({ isDefault }) => isDefault)
      if (before) {
        await api.setDefaultSessionTemplate({ params: { name: before.name }, body: { isDefault: false } })
      }
    })

  template
    .command('rm <name>')
    .description('Delete one of your templates.')
    .action(async (name: string) => {
      const { api } = await connect()
      await api.deleteSessionTemplate({ params: { name } })
    })
}

/** @throws AppError `template_not_found` */
export async function findTemplate(api: ApiClient, name: string): Promise<SessionSpec> {
  const { items } = await api.listSessionTemplates()
  const found = items.find(template => template.name.toLowerCase() === name.toLowerCase())
  if (!found) throw new AppError('template_not_found', { name, why: `You have no template "${name}".` })
  return found.spec
}

const templateTable = (items: readonly SessionTemplate[]) =>
  table(
    ['NAME', 'IMAGE', 'RESOURCES', 'AGE', 'DEFAULT'],
    items.map(({ name, spec, updatedAt, isDefault }) => [
      name,
      spec.image,
      amounts(spec.resources),
      age(updatedAt),
      isDefault ? 'yes' : '',
    ]),
  )
