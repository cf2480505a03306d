import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ServiceDefinition, toServiceCommand } from './service-definition.ts'

const commandOf = (definition: object) =>
  toServiceCommand('jupyter', ServiceDefinition.parse(definition), {
    ports: [8080, 8081],
    runtimePath: '/usr/bin/python',
  })

/** Runs the script with this machine's programs in place of the toolbox's, in a folder that stands for the home. */
function run(definition: object): { output: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const script = (commandOf(definition).command[3] ?? '')
    .replaceAll('/opt/berth/bin/busybox ', '')
    .replaceAll('/home/work', folder)
  return { output: execFileSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8' }), folder }
}

test('a service starts with its ports, its interpreter and its environment', () => {
  const { command, environ } = commandOf({
    command: ['{runtime_path}', '-m', 'jupyter', '--port={ports[0]}', '--control', '{ports[1]}'],
    env: { JUPYTER_PORT: '{ports[0]}' },
    default_arguments: { '--debug': null, '--level': '3', '--path': ['a', 'b'] },
  })
  expect(command.slice(0, 3)).toEqual(['/opt/berth/bin/busybox', 'sh', '-c'])
  expect(command[3]).toMatch(
    /^exec '\/usr\/bin\/python' '-m' 'jupyter' '--port=8080' '--control' '8081' '--debug' '--level' '3' '--path' 'a' 'b'$/m,
  )
  expect(environ).toEqual({ JUPYTER_PORT: '8080' })
})

test('arguments of the user replace defaults of the same name, as they stand, and only where the definition allows them', () => {
  const definition = ServiceDefinition.parse({
    command: ['tensorboard', '--port', '{ports[0]}'],
    default_arguments: { '--logdir': '/home/work/logs', '--bind_all': null },
    allowed_arguments: ['--logdir'],
    allowed_envs: ['TF_LEVEL'],
  })
  const start = (options: { arguments: Record<string, string>; environment: Record<string, string> }) =>
    toServiceCommand('tensorboard', definition, { ports: [6006], runtimePath: undefined, options })
  const { command, environ } = start({ arguments: { '--logdir': "/a {b}'s" }, environment: { TF_LEVEL: '1' } })
  expect(command[3]).toContain(`exec 'tensorboard' '--port' '6006' '--bind_all' '--logdir' '/a {b}'\\''s'`)
  expect(environ).toEqual({ TF_LEVEL: '1' })
  expect(() => start({ arguments: { '--host': 'x' }, environment: {} })).toThrow('--host')
  expect(() => start({ arguments: {}, environment: { PATH: '/x' } })).toThrow('TF_LEVEL')
})

test('files of a service are written before its start, at the paths that it expects', () => {
  const { output, folder } = run({
    prestart: [
      { action: 'mkdir', args: { path: 'deep/folder' } },
      {
        action: 'write_file',
        args: { filename: 'deep/folder/a b.py', mode: '640', body: ["c.ip = '*'", 'port = {ports[0]}'] },
      },
      { action: 'write_file', args: { filename: 'deep/folder/a b.py', append: true, body: ['{{}}'] } },
      { action: 'write_tempfile', args: { body: ['temporary'] }, ref: 'config' },
      { action: 'run_command', args: { command: ['false'] } },
      { action: 'log', args: { message: 'hello' } },
    ],
    command: ['cat', 'deep/folder/a b.py', '{config}'],
  })
  expect(output).toBe("c.ip = '*'\nport = 8080\n{}\ntemporary")
  expect(statSync(join(folder, 'deep/folder/a b.py')).mode & 0o777).toBe(0o755)
  expect(readFileSync(join(folder, '.cache/berth/jupyter-3.py'), 'utf8')).toBe('temporary')
})

test('the shell interprets nothing in a definition', () => {
  const { output } = run({ command: ['printf', '%s', '$(id) `id` \'; echo gone; \' \\ "x" %s'] })
  expect(output).toBe('$(id) `id` \'; echo gone; \' \\ "x" %s')
})

test('a service that runs by itself has no command', () => {
  expect(commandOf({ command: ['x'], noop: true }).command).toEqual([])
  expect(commandOf({}).command).toEqual([])
})

test.each([
  [{ command: ['{unknown}'] }, '"{unknown}"'],
  [{ command: ['{ports[7]}'] }, 'ports[7]'],
  [{ command: ['x'], prestart: [{ action: 'install_rootkit' }] }, 'install_rootkit'],
  [{ command: ['x'], prestart: [{ action: 'mkdir', args: {} }] }, 'mkdir'],
  [
    { command: ['x'], prestart: [{ action: 'write_file', args: { filename: 'a', body: [], mode: '755; id' } }] },
    'write_file',
  ],
])('a definition with unavailable features is refused: %j', (definition, why) => {
  expect(() => commandOf(definition)).toThrow(why)
})
