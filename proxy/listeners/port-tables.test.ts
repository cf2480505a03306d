import { expect, test } from 'vitest'
import { parseLsof, parseNetstat, parseTasklist, programName } from './port-tables.ts'

test.each([
  ['chrome', ['/opt/google/chrome', '--type=x'], 'chrome'],
  ['node', ['node', '--enable-source-maps', '/srv/app/server.js', '--token=secret'], 'node server.js'],
  ['python3.13', ['/usr/bin/python3', '-u', '-m', 'http.server', '8400'], 'python3.13 http.server'],
  ['python3.13', ['python3', '/opt/jupyter lab/bin/jupyter-lab', '--port', '8400'], 'python3.13 jupyter-lab'],
  ['node', ['node'], 'node'],
  ['berth (deleted)', ['berth'], 'berth'],
  ['', ['/usr/sbin/sshd', '-D'], 'sshd'],
  ['', [''], ''],
])('the program %j with %j is told as %j', (executable, args, name) => {
  expect(programName(executable, args)).toBe(name)
})

test('lsof on macOS', () => {
  const recorded = 'p1234\ncGoogle\\x20Chrome\\x20Helper\nf23\np99\ncother\nf4\n'
  expect(parseLsof(recorded)).toEqual({ pid: 1234, name: 'Google Chrome Helper' })
  expect(parseLsof('')).toBeUndefined()
})

test('netstat and tasklist on Windows, whatever the language', () => {
  const recorded = [
    '',
    'Aktive Verbindungen',
    '',
    '  Proto  Lokale Adresse         Remoteadresse          Status           PID',
    '  TCP    127.0.0.1:8400         127.0.0.1:51000        HERGESTELLT      77',
    '  TCP    127.0.0.1:18400        0.0.0.0:0              ABHÖREN          78',
    '  TCP    127.0.0.1:8400         0.0.0.0:0              ABHÖREN          4321',
    '  TCP    [::1]:9000             [::]:0                 ABHÖREN          5555',
    '',
  ].join('\r\n')
  expect(parseNetstat(recorded, 8400)).toBe(4321)
  expect(parseNetstat(recorded, 9000)).toBe(5555)
  expect(parseNetstat(recorded, 51_000)).toBeUndefined()
  const tasks = '"node.exe","4321","Console","1","45,678 K"\r\n'
  expect(parseTasklist(tasks, 4321)).toBe('node.exe')
  expect(parseTasklist('INFO: No tasks are running which match the specified criteria.\r\n', 4321)).toBe('')
})
