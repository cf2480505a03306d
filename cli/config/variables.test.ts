import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addServerCommands } from '../commands/servers.ts'
import { type ServerCommand, VARIABLES_WITHOUT_KEY, variablesOf } from './variables.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const COMMANDS = ['up', 'manager', 'agent', 'wsproxy'] as const

/** Set by `berth up` for its servers, by developers and by tests. */
const INTERNAL = [
  'BERTH_CONSOLE_SECRET',
  'BERTH_DIRECT_KEY',
  'BERTH_PORT_HELD',
  'BERTH_CONSOLE_DIR',
  'BERTH_CONSOLE_DEV_URL',
  'BERTH_AGENT_CLAIM',
]

function helpOf(name: ServerCommand): string {
  const program = new Command()
  let printed = ''
  addServerCommands(program)
  const command = program.commands.find(candidate => candidate.name() === name)
  command?.configureOutput({ writeOut: text => (printed += text) }).outputHelp()
  return printed
}

test.each(COMMANDS)('berth %s --help lists its variables, each once and in one line', name => {
  const listed = [...helpOf(name).matchAll(/^ {2}([A-Z][A-Z_]+) {2,}\S.*$/gm)].map(([, variable]) => variable)
  expect(listed).toEqual(variablesOf(name).map(variable => variable.name))
  expect(new Set(listed).size).toBe(listed.length)
})

test.each([
  ['manager', ['manager/config.ts', 'manager/main.ts']],
  ['agent', ['agent/config.ts', 'agent/main.ts']],
  ['wsproxy', ['proxy/web/config.ts', 'proxy/web/main.ts']],
] as const)('berth %s --help has what that server reads, and nothing else', (name, sources) => {
  const found = sources.flatMap(path => read(path).match(/\b(BERTH_[A-Z_]+[A-Z]|DATABASE_URL|DOCKER_HOST)\b/g) ?? [])
  const wanted = new Set(found.filter(variable => !INTERNAL.includes(variable)))
  expect(
    variablesOf(name)
      .map(variable => variable.name)
      .toSorted(),
  ).toEqual([...wanted].toSorted())
})

test('docs/configuration.md has the variables without a key, with the commands that read them', () => {
  const table = read('docs/configuration.md').split('## Variables without a key')[1]?.split('\n## ')[0] ?? ''
  const rows = [...table.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].flatMap(([, name, readers = '']) => {
    const commands = COMMANDS.filter(command => readers.includes(`\`berth ${command}\``))
    return readers === 'the commands' ? [] : [[name, readers === 'all servers' ? [...COMMANDS] : commands]]
  })
  expect(rows).toEqual(VARIABLES_WITHOUT_KEY.map(({ name, commands }) => [name, [...commands]]))
})
