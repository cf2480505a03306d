import { type Command } from 'commander'
import { expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { createProgram } from './main.ts'
import { OPTIONS, optionHint } from './option-hint.ts'

/** The command of a line, parsed but not run. */
async function parsed(line: string): Promise<Command> {
  const program = createProgram(true)
  let found: Command | undefined
  program.hook('preAction', (_, command) => {
    found = command.action(() => undefined)
  })
  await program.parseAsync(line.split(' '), { from: 'user' })
  if (!found) throw new Error(`no command ran: ${line}`)
  return found
}

const REGISTRY = new AppError('bad_request', because('registry_in_clear'))

test.each([
  ['session create --image a/b:1', new AppError('resource_group_inactive'), '--resource-group <name>'],
  ['session restart x', new AppError('forbidden', because('batch_command_of_other', { who: 'ada' })), '--keep-command'],
  ['admin registry add x --url http://cr.example.org', REGISTRY, '--allow-http'],
])('berth %s: the option is named', async (line, error, option) => {
  expect(optionHint(error, await parsed(line))).toBe(`\n  Option: ${option}`)
})

test.each([
  ['session create --image a/b:1 --project speech', new AppError('group_inactive')],
  ['session ls', new AppError('group_needed')],
  ['session create --image a/b:1', new AppError('internal')],
  ['session create --image a/b:1', new Error('anything')],
])(
  'berth %s: no option is named that was given, that the command lacks, or that does not help',
  async (line, error) => {
    expect(optionHint(error, await parsed(line))).toBe('')
  },
)

test('each option of the table is one of some command', () => {
  const all = (command: Command): string[] => [
    ...command.options.map(({ long }) => long ?? ''),
    ...command.commands.flatMap(all),
  ]
  const known = new Set(all(createProgram(true)))
  expect(Object.values(OPTIONS).filter(option => !known.has(option))).toEqual([])
})
