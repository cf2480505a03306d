import { type Command } from 'commander'
import { afterEach, expect, test, vi } from 'vitest'
import { createProgram } from '../main.ts'

afterEach(() => vi.restoreAllMocks())

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

/** Parses a line; the named command only reports its arguments. */
async function parse(line: string) {
  const program = createProgram(false)
  let given: { arguments: readonly string[]; options: unknown } | undefined
  for (const command of everyCommand(program)) {
    if (command.commands.length > 0 || command.name() === 'group') continue
    command.action(() => {
      given = { arguments: command.args, options: command.opts() }
    })
  }
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  await program.parseAsync(line.split(' '), { from: 'user' })
  const said = stderr.mock.calls.map(([text]) => text)
  stderr.mockRestore()
  return { given, said }
}

test.each([
  'usage --project vision',
  'session create --image a/b:1 --project vision',
  'preset ls --project vision',
  'folder create data --project vision',
  'admin preset ls --project vision',
  'admin usage limits --project vision',
  'admin resource-group grant gpu --project vision',
  'admin resource-group withdraw gpu --project vision',
  'admin user ls --project=vision',
  'admin user create ada@example.org --projects vision,speech',
  'admin user update ada@example.org --projects vision,speech',
])('berth %s: the old word of the option does the same, and names the new one', async line => {
  const now = await parse(line)
  expect(now.given?.options).toMatchObject(
    line.includes('--projects') ? { projects: ['vision', 'speech'] } : { project: 'vision' },
  )
  expect(now.said).toEqual([])
  const [is, was] = line.includes('--projects') ? ['--projects', '--groups'] : ['--project', '--group']
  const before = await parse(line.replace(is, was))
  expect(before.given).toEqual(now.given)
  expect(before.said).toEqual([`Note: "${was}" is called "${is}" now; the next version knows only the new word.\n`])
})

test.each([
  'ls --mine --json',
  'create vision --domain research --cpu 4',
  'update vision --name speech',
  'activate vision',
  'deactivate vision',
  'rm vision --purge',
  'members add vision ada@example.org bob@example.org',
  'members rm vision ada@example.org',
])('berth admin group %s: the old word of the command does the same, and names the new one', async rest => {
  const now = await parse(`admin project ${rest}`)
  expect(now.given?.arguments).toBeDefined()
  expect(now.said).toEqual([])
  const before = await parse(`admin group ${rest}`)
  expect(before.given).toEqual(now.given)
  expect(before.said).toEqual([
    'Note: "berth admin group" is called "berth admin project" now; the next version knows only the new word.\n',
  ])
})

test('commands that named a project in another way did not get the old word', async () => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  for (const line of ['admin signup accept ada@example.org --group vision', 'admin registry add docker.io --group a'])
    await expect(parse(line)).rejects.toThrow("unknown option '--group'")
})

test('no help shows an old word', () => {
  const program = createProgram(false)
  const helps = everyCommand(program)
    .filter(command => command.name() !== 'group')
    .map(command => command.helpInformation())
  expect(helps.join('')).toContain('--project <')
  expect(helps.filter(help => /--groups?\b|<group>|^ {2}group\b/m.test(help))).toEqual([])
})
